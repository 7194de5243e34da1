package germane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestAnAnswerHoldsTheCallersOwnPointers(t *testing.T) {
	noLeaks(t)
	service := &fake{assemble: echo}
	request := asked("Where is my parcel?", "And the other one?")
	response := dial(t, service.serve(t), Options{}).Assemble(context.Background(), request)
	if response.Metadata.FallbackReason != "" || response.Metadata.MemoriesInjected != 1 {
		t.Fatal(response.Metadata)
	}
	mustHold(t, response.Messages[1:], request.Messages)
}

func TestWhateverTheServiceDoesTheCallersMessagesComeBack(t *testing.T) {
	for name, one := range map[string]struct {
		answer func(context.Context, *AssembleRequest) (*AssembleResponse, error)
		reason string
	}{
		"an error":       {failing(codes.Internal), "grpc_error:INTERNAL"},
		"no key":         {failing(codes.Unauthenticated), "grpc_error:UNAUTHENTICATED"},
		"an odd code":    {failing(codes.Code(99)), "grpc_error:UNKNOWN"},
		"its own limit":  {failing(codes.DeadlineExceeded), "grpc_error:DEADLINE_EXCEEDED"},
		"no messages":    {answering(), "client_error:altered"},
		"a changed word": {answering(&Message{Role: "user", Content: "Where is my purse?"}), "client_error:altered"},
		"another role":   {answering(&Message{Role: "assistant", Content: "Where is my parcel?"}), "client_error:altered"},
		"an added answer": {answering(&Message{Role: "user", Content: "Where is my parcel?"}, &Message{Role: "assistant", Content: "Here."}),
			"client_error:altered"},
		"no JSON": {answering(&Message{Role: "user", Json: "{"}), "client_error:InvalidInput"},
		"too much": {answering(&Message{Role: "user", Content: strings.Repeat("x", maxWireBytes+1)}),
			"grpc_error:RESOURCE_EXHAUSTED"},
	} {
		t.Run(name, func(t *testing.T) {
			service := &fake{assemble: one.answer}
			request := asked("Where is my parcel?")
			mustBeOwn(t, request, dial(t, service.serve(t), Options{}).Assemble(context.Background(), request), one.reason)
		})
	}
}

func failing(code codes.Code) func(context.Context, *AssembleRequest) (*AssembleResponse, error) {
	return func(context.Context, *AssembleRequest) (*AssembleResponse, error) {
		return nil, status.Error(code, "no")
	}
}

func answering(messages ...*Message) func(context.Context, *AssembleRequest) (*AssembleResponse, error) {
	return func(context.Context, *AssembleRequest) (*AssembleResponse, error) {
		return &AssembleResponse{Messages: messages}, nil
	}
}

func TestAServiceThatIsDownHangsOrSpeaksSomethingElse(t *testing.T) {
	noLeaks(t)
	for name, one := range map[string]struct {
		target string
		limit  time.Duration
		reason string
	}{
		"down":     {unused(t), 30 * time.Second, "grpc_error:UNAVAILABLE"},
		"hung":     {raw(t, hangs), 45 * time.Millisecond, "grpc_error:DEADLINE_EXCEEDED"},
		"hangs up": {raw(t, func(net.Conn) {}), 30 * time.Second, "grpc_error:UNAVAILABLE"},
		"web": {raw(t, func(conn net.Conn) {
			fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			hangs(conn)
		}), 45 * time.Millisecond, ""},
		"noise": {raw(t, func(conn net.Conn) { conn.Write([]byte(strings.Repeat("\x00\xff", 4096))); hangs(conn) }),
			45 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request := asked("hi")
			response := dial(t, one.target, Options{Limit: one.limit}).Assemble(context.Background(), request)
			reason := one.reason
			if reason == "" { // which of the two depends on what is read first
				reason = response.Metadata.FallbackReason
				if reason != "grpc_error:UNAVAILABLE" && reason != "grpc_error:DEADLINE_EXCEEDED" {
					t.Fatal(reason)
				}
			}
			mustBeOwn(t, request, response, reason)
		})
	}
}

func TestASlowServiceIsLeftAtTheLimitAndToldOfIt(t *testing.T) {
	told := make(chan error, 1)
	service := &fake{assemble: func(ctx context.Context, _ *AssembleRequest) (*AssembleResponse, error) {
		<-ctx.Done()
		told <- ctx.Err()
		return nil, status.FromContextError(ctx.Err()).Err()
	}}
	client := dial(t, service.serve(t), Options{Limit: 300 * time.Millisecond})
	if !client.Ready(context.Background()) {
		t.Fatal("not connected")
	}
	request := asked("hi")
	mustBeOwn(t, request, client.Assemble(context.Background(), request), "grpc_error:DEADLINE_EXCEEDED")
	if <-told == nil {
		t.Fatal("the service wasn't cancelled")
	}
}

func TestTheCallersOwnDeadlineAndCancellationEndACall(t *testing.T) {
	client := dial(t, raw(t, hangs), Options{Breaker: 1})
	request := asked("hi")
	cancelled, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	mustBeOwn(t, request, client.Assemble(cancelled, request), "grpc_error:CANCELLED")
	expired, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	mustBeOwn(t, request, client.Assemble(expired, request), "grpc_error:DEADLINE_EXCEEDED")
	mustBeOwn(t, request, client.Assemble(ended(), request), "grpc_error:CANCELLED") // and the breaker is still closed
}

func TestAfterCallsThatHungNoneIsMadeForAWhile(t *testing.T) {
	client := dial(t, raw(t, hangs), Options{Limit: time.Millisecond, Breaker: 3, Cooldown: time.Hour})
	request := asked("hi")
	reasons := map[string]int{}
	for range [20]int{} {
		reasons[client.Assemble(context.Background(), request).Metadata.FallbackReason]++
	}
	if reasons["client_breaker_open"] < 15 || reasons["client_breaker_open"] > 17 {
		t.Fatal(reasons)
	}
}

func TestTheBreakerLetsOneProbeThrough(t *testing.T) {
	now := time.Unix(0, 0)
	b := breaker{after: 2, cooldown: time.Second}
	b.hung(now)
	if !b.allows(now) {
		t.Fatal("one call that hung opens nothing")
	}
	b.hung(now)
	if b.allows(now.Add(999 * time.Millisecond)) {
		t.Fatal("open")
	}
	if !b.allows(now.Add(time.Second)) || b.allows(now.Add(time.Second)) {
		t.Fatal("one probe")
	}
	b.release()
	if !b.allows(now.Add(time.Second)) {
		t.Fatal("the probe said nothing, and the next one may be made")
	}
	b.answered()
	if !b.allows(now) {
		t.Fatal("closed again")
	}
}

func TestTextThatIsNotUTF8IsSentAndComesBackAsItWas(t *testing.T) {
	var got *AssembleRequest
	service := &fake{assemble: func(ctx context.Context, request *AssembleRequest) (*AssembleResponse, error) {
		got = request
		return echo(ctx, request)
	}}
	client := dial(t, service.serve(t), Options{})
	request := asked("a\xffb")
	request.Messages = append(request.Messages, &Message{Role: "user", Json: "{\"role\":\"user\",\"content\":\"\xc3\"}"})
	request.Options = &AssembleOptions{Query: "q\xfe"}
	response := client.Assemble(context.Background(), request)
	if response.Metadata.FallbackReason != "" {
		t.Fatal(response.Metadata.FallbackReason)
	}
	mustHold(t, response.Messages[1:], request.Messages)
	if got.Messages[0].Content != "a\uFFFDb" || got.Options.Query != "q\uFFFD" || request.Options.Query != "q\xfe" {
		t.Fatal(got)
	}
	request.UserId = "\xff" // an id is never changed into another one
	mustBeOwn(t, request, client.Assemble(context.Background(), request), "client_error:InvalidInput")
}

func TestArgumentsThatCannotBeUsedAreNoPanic(t *testing.T) {
	client := dial(t, unused(t), Options{})
	var none *Client
	for name, response := range map[string]*AssembleResponse{
		"no request": client.Assemble(context.Background(), nil),
		"no client":  none.Assemble(context.Background(), asked("hi")),
	} {
		if response.Metadata.FallbackReason != "client_error:InvalidInput" {
			t.Fatal(name, response)
		}
	}
	request := &AssembleRequest{Messages: []*Message{nil, {}}}
	mustBeOwn(t, request, client.Assemble(nil, request), "grpc_error:UNAVAILABLE") //nolint: a nil context is the case
	if none.Record(&RecordRequest{}) || client.Record(nil) {
		t.Fatal("accepted")
	}
}

func TestAPanicBelowNeverLeaves(t *testing.T) {
	broken := grpc.WithChainUnaryInterceptor(func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
		panic("broken")
	})
	client := dial(t, unused(t), Options{Dial: []grpc.DialOption{broken}, Log: panicking{}})
	request := asked("hi")
	mustBeOwn(t, request, client.Assemble(context.Background(), request), "client_error:panic")
	if err := client.Check(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Fatal(err)
	}
	client.Record(&RecordRequest{SessionId: "s"})
	if err := client.Flush(context.Background()); err != nil || client.RecordStats().Failed != 1 {
		t.Fatal(err, client.RecordStats())
	}
}

type panicking struct{}

func (panicking) Printf(string, ...any) { panic("no log") }

func TestAThousandCallsAtOnceShareOneConnection(t *testing.T) {
	noLeaks(t)
	var mutex sync.Mutex
	peers := map[string]bool{}
	service := &fake{assemble: func(ctx context.Context, request *AssembleRequest) (*AssembleResponse, error) {
		mutex.Lock()
		peers[peerOf(ctx)] = true
		mutex.Unlock()
		return echo(ctx, request)
	}}
	client := dial(t, service.serve(t), Options{})
	var calls sync.WaitGroup
	failures := make(chan string, 1000)
	for number := 0; number < 1000; number++ {
		request := asked(fmt.Sprint("question ", number))
		calls.Add(1)
		go func() {
			defer calls.Done()
			response := client.Assemble(context.Background(), request)
			if response.Metadata.FallbackReason != "" || response.Messages[1] != request.Messages[0] {
				failures <- response.Metadata.FallbackReason
			}
		}()
	}
	calls.Wait()
	if len(failures) > 0 || len(peers) != 1 {
		t.Fatal(len(failures), peers)
	}
}

func TestAServiceThatComesBackIsUsedAgain(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	listener.Close()
	client := dial(t, address, Options{})
	request := asked("hi")
	mustBeOwn(t, request, client.Assemble(context.Background(), request), "grpc_error:UNAVAILABLE")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("the port was taken meanwhile")
	}
	service := &fake{assemble: echo}
	server := grpc.NewServer()
	register(server, service)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	if !client.Ready(context.Background()) {
		t.Fatal("not connected again")
	}
	if response := client.Assemble(context.Background(), request); response.Metadata.FallbackReason != "" {
		t.Fatal(response.Metadata)
	}
}

func TestTheKeyIsSentAndNoAuthorizationOfOthers(t *testing.T) {
	seen := make(chan []string, 1)
	service := &fake{assemble: func(ctx context.Context, request *AssembleRequest) (*AssembleResponse, error) {
		incoming, _ := metadata.FromIncomingContext(ctx)
		seen <- append(incoming.Get("authorization"), incoming.Get("x-trace")...)
		return echo(ctx, request)
	}}
	target := service.serve(t)
	for key, wanted := range map[string]string{"gk_1": "[Bearer gk_1 7]", "": "[7]"} {
		client := dial(t, target, Options{Key: key})
		ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer sk-of-the-provider", "x-trace", "7")
		client.Assemble(ctx, asked("hi"))
		if got := fmt.Sprint(<-seen); got != wanted {
			t.Fatal(got, wanted)
		}
	}
}

func TestAKeyLeavesThisMachineOnlyEncrypted(t *testing.T) {
	for target, allowed := range map[string]bool{
		"127.0.0.1:7411": true, "localhost:7411": true, "[::1]:7411": true, "unix:/run/germane": true, "dns:///localhost:1": true,
		"10.0.0.1:7411": false, "germane.example:443": false, "dns://9.9.9.9/localhost:1": false, "localhost.example:1": false,
	} {
		client, err := Dial(target, Options{Key: "gk_1", Log: &warnings{}})
		if (err == nil) != allowed {
			t.Error(target, err)
		}
		if err == nil {
			client.Close(ended())
		}
	}
	for _, options := range []Options{{Key: "gk_1", Plaintext: true}, {Key: "gk_1", TLS: &tls.Config{}}} {
		client, err := Dial("germane.example:443", options)
		if err != nil {
			t.Fatal(err)
		}
		client.Close(ended())
	}
	for _, target := range []string{"", " ", "http://127.0.0.1:7411", "HTTPS://germane.example"} {
		if _, err := Dial(target, Options{}); err == nil {
			t.Error(target)
		}
	}
	for _, options := range []Options{{Limit: -1}, {Limit: time.Hour}, {Key: "a\nb"}, {QueueBytes: -1}} {
		if _, err := Dial("127.0.0.1:1", options); err == nil {
			t.Error(options)
		}
	}
}

func TestTLSVerifiesTheServer(t *testing.T) {
	certificate, roots := selfSigned(t)
	service := &fake{assemble: echo}
	target := service.serve(t, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	request := asked("hi")
	trusting := dial(t, target, Options{TLS: &tls.Config{RootCAs: roots}, Key: "gk_1"})
	if response := trusting.Assemble(context.Background(), request); response.Metadata.FallbackReason != "" {
		t.Fatal(response.Metadata)
	}
	for name, options := range map[string]Options{"system's roots": {TLS: &tls.Config{}}, "another name": {TLS: &tls.Config{RootCAs: roots, ServerName: "other.example"}}} {
		t.Run(name, func(t *testing.T) {
			mustBeOwn(t, request, dial(t, target, options).Assemble(context.Background(), request), "grpc_error:UNAVAILABLE")
		})
	}
}

func TestAClosedClientGivesMessagesBack(t *testing.T) {
	noLeaks(t)
	client := dial(t, raw(t, hangs), Options{})
	request := asked("hi")
	response := make(chan *AssembleResponse)
	go func() { response <- client.Assemble(context.Background(), request) }()
	for client.conn.GetState().String() == "IDLE" {
		time.Sleep(time.Millisecond)
	}
	client.Close(ended())
	if reason := (<-response).Metadata.FallbackReason; reason != "grpc_error:CANCELLED" && reason != "grpc_error:UNAVAILABLE" && reason != "client_error:closed" {
		t.Fatal(reason)
	}
	mustBeOwn(t, request, client.Assemble(context.Background(), request), "client_error:closed")
	if client.Record(&RecordRequest{}) || client.Close(ended()) != nil || client.Ready(context.Background()) {
		t.Fatal("open")
	}
}

func TestAReasonIsLoggedOnceAndWithoutContent(t *testing.T) {
	log := &warnings{}
	client := dial(t, unused(t), Options{Log: log})
	for range [5]int{} {
		client.Assemble(context.Background(), asked("my secret"))
	}
	if said := log.all(); strings.Count(said, "UNAVAILABLE") != 1 || strings.Contains(said, "secret") {
		t.Fatal(said)
	}
}
