package germane

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"germane/contextv1"
)

// fake is a service whose answers a test sets.
type fake struct {
	contextv1.UnimplementedContextAssemblyServiceServer
	contextv1.UnimplementedMessageServiceServer
	assemble func(context.Context, *AssembleRequest) (*AssembleResponse, error)
	record   func(context.Context, *RecordRequest) (*contextv1.RecordResponse, error)
}

func (f *fake) AssembleContext(ctx context.Context, request *AssembleRequest) (*AssembleResponse, error) {
	return f.assemble(ctx, request)
}

func (f *fake) Record(ctx context.Context, request *RecordRequest) (*contextv1.RecordResponse, error) {
	return f.record(ctx, request)
}

// echo answers with one memory in front of the caller's messages.
func echo(_ context.Context, request *AssembleRequest) (*AssembleResponse, error) {
	memory := &Message{Role: "system", Content: "remembered"}
	return &AssembleResponse{Messages: append([]*Message{memory}, request.Messages...), Metadata: &Metadata{MemoriesInjected: 1}}, nil
}

func (f *fake) serve(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	server := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(maxWireBytes))...)
	contextv1.RegisterContextAssemblyServiceServer(server, f)
	contextv1.RegisterMessageServiceServer(server, f)
	listener := listen(t)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// raw is a server that isn't gRPC: each connection goes to handle.
func raw(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener := listen(t)
	var connections sync.WaitGroup
	connections.Add(1)
	go func() {
		defer connections.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer connections.Done()
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	t.Cleanup(func() { listener.Close(); connections.Wait() })
	return listener.Addr().String()
}

// hangs reads and never answers.
func hangs(conn net.Conn) { io.Copy(io.Discard, conn) }

// unused returns an address where nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	defer listener.Close()
	return listener.Addr().String()
}

// warnings is a logger that keeps what it gets.
type warnings struct {
	mutex sync.Mutex
	lines []string
}

func (w *warnings) Printf(format string, values ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, value := range values {
		w.lines = append(w.lines, value.(string))
	}
}

func (w *warnings) all() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return strings.Join(w.lines, "\n")
}

// dial returns a client that waits long enough for a loaded machine, and that is closed with the test.
func dial(t *testing.T, target string, options Options) *Client {
	t.Helper()
	if options.Limit == 0 {
		options.Limit = 30 * time.Second
	}
	if options.Log == nil {
		options.Log = &warnings{}
	}
	client, err := Dial(target, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(ended()) })
	return client
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func asked(texts ...string) *AssembleRequest {
	request := &AssembleRequest{OrgId: "acme", AgentId: "support", Model: "gpt-4o"}
	for _, text := range texts {
		request.Messages = append(request.Messages, &Message{Role: "user", Content: text})
	}
	return request
}

// mustBeOwn fails unless the response holds the request's own messages, and the reason.
func mustBeOwn(t *testing.T, request *AssembleRequest, response *AssembleResponse, reason string) {
	t.Helper()
	if got := response.GetMetadata().GetFallbackReason(); got != reason {
		t.Fatalf("the reason is %q, not %q", got, reason)
	}
	if response.Metadata.DegradationLevel != 3 {
		t.Fatalf("the level is %d", response.Metadata.DegradationLevel)
	}
	mustHold(t, response.Messages, request.Messages)
}

func mustHold(t *testing.T, got, wanted []*Message) {
	t.Helper()
	if len(got) != len(wanted) {
		t.Fatalf("there are %d messages, not %d", len(got), len(wanted))
	}
	for index := range wanted {
		if got[index] != wanted[index] {
			t.Fatalf("message %d isn't the caller's own", index)
		}
	}
}

// noLeaks fails a test after which more goroutines run than before; those that end by themselves get time to.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for attempt := 0; runtime.NumGoroutine() > before; attempt++ {
			if attempt == 200 {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
			}
			runtime.Gosched()
			time.Sleep(10 * time.Millisecond)
		}
	})
}
