package germane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"germane/contextv1"
)

func register(server *grpc.Server, service *fake) {
	contextv1.RegisterContextAssemblyServiceServer(server, service)
	contextv1.RegisterMessageServiceServer(server, service)
}

func peerOf(ctx context.Context) string {
	caller, _ := peer.FromContext(ctx)
	return caller.Addr.String()
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	written, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(written)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return tls.Certificate{Certificate: [][]byte{written}, PrivateKey: key}, roots
}

// real returns a client of the service that GERMANE_TARGET names.
func real(t *testing.T) *Client {
	t.Helper()
	target := os.Getenv("GERMANE_TARGET")
	if target == "" {
		t.Skip("GERMANE_TARGET names no service")
	}
	return dial(t, target, Options{Org: "default", Agent: t.Name(), Patience: time.Minute})
}

func TestAConversationIsRemembered(t *testing.T) {
	client, ctx := real(t), context.Background()
	if err := client.Check(ctx, "default"); err != nil {
		t.Fatal(err)
	}
	scope := &Scope{UserId: "ana"}
	if !client.Record(&RecordRequest{Scope: scope, SessionId: "s1", Messages: []*Message{
		{Role: "user", Content: "My parcel number is KX-4411, and I live in Bremen."}, {Role: "assistant", Content: "Noted."}}}) {
		t.Fatal("not queued")
	}
	if err := client.Flush(ctx); err != nil || client.RecordStats() != (RecordStats{Stored: 1}) {
		t.Fatal(err, client.RecordStats())
	}
	request := &AssembleRequest{UserId: "ana", SessionId: "s2", Model: "gpt-4o", Messages: []*Message{{Role: "user", Content: "What is my parcel number?"}}}
	response := client.Assemble(ctx, request)
	if response.Metadata.FallbackReason != "" || !strings.Contains(string(MessagesToJSON(response.Messages)), "KX-4411") {
		t.Fatal(response)
	}
	if last := response.Messages[len(response.Messages)-1]; last != request.Messages[0] && !strings.Contains(last.Content, "What is my parcel number?") {
		t.Fatal(response)
	}
	found, err := client.Search(ctx, &SearchRequest{Scope: scope, Query: "parcel number"})
	if err != nil || len(found) == 0 || !strings.Contains(found[0].Text, "KX-4411") {
		t.Fatal(found, err)
	}
}

func TestTheShapesOfProvidersComeBackWhole(t *testing.T) {
	client, ctx := real(t), context.Background()
	client.Record(&RecordRequest{SessionId: "s1", Messages: []*Message{{Role: "user", Content: "The harbour code is 9917."}}})
	client.Flush(ctx)
	for provider, list := range map[string]string{
		"openai":    `[{"role":"user","content":[{"type":"text","text":"What is the harbour code?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]`,
		"anthropic": `[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{"n":1.5}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"seen"},{"type":"text","text":"What is the harbour code?"}]}]`,
		"gemini":    `[{"role":"user","parts":[{"text":"What is the harbour code?"}]}]`,
	} {
		messages, err := MessagesFromJSON([]byte(list))
		if err != nil {
			t.Fatal(err)
		}
		model := map[string]string{"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}[provider]
		response := client.Assemble(ctx, &AssembleRequest{SessionId: "s2", Model: model, Messages: messages,
			Options: &AssembleOptions{Provider: provider, SystemJson: `"Answer briefly."`}})
		written := string(MessagesToJSON(response.Messages)) + response.SystemJson
		if response.Metadata.FallbackReason != "" || !strings.Contains(written, "9917") || !strings.Contains(written, "Answer briefly.") {
			t.Fatal(provider, response)
		}
	}
}

func TestOperationsOfTheLibrary(t *testing.T) {
	client, ctx := real(t), context.Background()
	var pushed, listed any
	if err := client.Write(ctx, nil, "tasks.push", map[string]any{"goal": "Ship it", "session": "s1"}, &pushed); err != nil {
		t.Fatal(err)
	}
	if err := client.Read(ctx, nil, "tasks.list", map[string]any{"session": "s1"}, &listed); err != nil {
		t.Fatal(err)
	}
	if tasks, isList := listed.([]any); !isList || len(tasks) != 1 {
		t.Fatal(listed)
	}
	if err := client.Read(ctx, nil, "tasks.push", nil, nil); status.Code(err) != codes.InvalidArgument {
		t.Fatal(err)
	}
	if err := client.Read(ctx, nil, "no.such", nil, nil); status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	if _, err := client.Search(ctx, &SearchRequest{Query: ""}); status.Code(err) != codes.InvalidArgument {
		t.Fatal(err)
	}
	response := client.Assemble(ctx, &AssembleRequest{Model: "gpt-4o", Messages: asked("hi").Messages, Options: &AssembleOptions{Strategy: "no-such"}})
	if response.Metadata.FallbackReason != "grpc_error:INVALID_ARGUMENT" {
		t.Fatal(response.Metadata)
	}
}

func TestManyCallersOfTheRealService(t *testing.T) {
	client, ctx := real(t), context.Background()
	var callers sync.WaitGroup
	failed := make(chan string, 1000)
	for number := 0; number < 1000; number++ {
		callers.Add(1)
		go func() {
			defer callers.Done()
			request := &AssembleRequest{Model: "gpt-4o", Messages: []*Message{{Role: "user", Content: "a\xff long text " + strings.Repeat("word ", 200)}}}
			response := client.Assemble(ctx, request)
			for _, message := range response.Messages {
				if message == request.Messages[0] {
					return
				}
			}
			failed <- response.Metadata.FallbackReason
		}()
	}
	callers.Wait()
	if len(failed) > 0 {
		t.Fatal(len(failed), <-failed)
	}
}
