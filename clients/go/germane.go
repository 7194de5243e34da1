// Package germane is a client of the context assembly service (`germane serve`), over gRPC.
//
// Client.Assemble is called right before a model is called. It never returns an error, never panics, and answers within
// Options.Limit (45 ms): whatever goes wrong, the response holds the caller's own messages, and
// Metadata.FallbackReason says why. Client.Record queues what was said and returns at once.
package germane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"germane/contextv1"
)

// The contract's messages under short names. Further ones, such as Filters, are in the package contextv1.
type (
	Message          = contextv1.Message
	AssembleRequest  = contextv1.AssembleContextRequest
	AssembleOptions  = contextv1.AssembleOptions
	AssembleResponse = contextv1.AssembleContextResponse
	Metadata         = contextv1.InjectionMetadata
	RecordRequest    = contextv1.RecordRequest
	Scope            = contextv1.Scope
	SearchRequest    = contextv1.SearchRequest
	SearchResponse   = contextv1.SearchResponse
)

const (
	maxWireBytes    = 16 << 20
	maxLimit        = time.Minute
	maxWarnings     = 64
	defaultLimit    = 45 * time.Millisecond
	defaultPatience = 10 * time.Second
)

// Options of a client. The zero value is a client without a key, in plaintext.
type Options struct {
	// Org and Agent are used where a request names none. Default: "default"; with Key, the key's org.
	Org, Agent string
	// Key is an API key. Without TLS it is sent to this machine only, unless Plaintext is set.
	Key string
	// TLS encrypts the connection; it holds root certificates, the client's own certificate (mTLS) and the server's name. nil: plaintext.
	TLS *tls.Config
	// Plaintext allows Key without TLS to another host, for networks that are trusted or encrypt by themselves.
	Plaintext bool
	// Limit bounds Assemble, with connecting and writing the request. Default 45 ms, maximum 1 minute.
	Limit time.Duration
	// Patience bounds one attempt of any other call. Default 10 s.
	Patience time.Duration
	// Breaker is after how many calls of Assemble in a row that hung none is made for Cooldown. Default 5; negative: never.
	Breaker int
	// Cooldown has the default 1 s.
	Cooldown time.Duration
	// QueueRequests and QueueBytes bound what Record holds. Defaults 1,024 requests and 32 MiB.
	QueueRequests, QueueBytes int
	// Log gets each reason of a failure once, without content of messages. Default: the standard logger.
	Log Logger
	// Dial are further options of the connection, such as interceptors.
	Dial []grpc.DialOption
}

// Logger is what Options.Log needs; a *log.Logger is one.
type Logger interface {
	Printf(format string, values ...any)
}

// Client calls one service over one connection. All methods may be called at the same time from any goroutine.
type Client struct {
	options Options
	conn    *grpc.ClientConn
	breaker breaker
	queue   *queue
	mutex   sync.Mutex
	warned  map[string]bool
	closed  bool
}

// Dial returns a client of the service at target, such as "127.0.0.1:7411", and starts connecting without waiting for it.
//
// The error is about arguments that can't be used. A service that can't be reached isn't an error.
func Dial(target string, options Options) (*Client, error) {
	if err := options.complete(target); err != nil {
		return nil, err
	}
	creds := credentials.TransportCredentials(plaintext{})
	if options.TLS != nil {
		creds = credentials.NewTLS(options.TLS.Clone())
	}
	client := &Client{options: options, warned: map[string]bool{}}
	client.breaker = breaker{after: options.Breaker, cooldown: options.Cooldown}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithNoProxy(), // environment variables must not redirect conversations
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxWireBytes), grpc.MaxCallSendMsgSize(maxWireBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 2 * time.Second}),
		grpc.WithChainUnaryInterceptor(client.authorizeUnary),
		grpc.WithChainStreamInterceptor(client.authorizeStream),
	}
	// grpc.NewClient, which replaces grpc.Dial, is not in the gRPC of Debian 12. All 1.x have grpc.Dial.
	conn, err := grpc.Dial(target, append(dial, options.Dial...)...)
	if err != nil {
		return nil, fmt.Errorf("germane: target %q can't be used: %w", target, err)
	}
	client.conn = conn
	client.queue = newQueue(client)
	return client, nil
}

// Conn returns the connection, for calls of the contract that have no method here:
// contextv1.NewMemoryServiceClient(client.Conn()). The key is sent with each call.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Ready waits until the connection stands or ctx ends, and returns whether it stands. Call it at the start of a program to connect
// ahead of the first Assemble.
func (c *Client) Ready(ctx context.Context) bool {
	for {
		state := c.conn.GetState()
		if state == connectivity.Ready {
			return true
		}
		if idle, can := any(c.conn).(interface{ Connect() }); can && state == connectivity.Idle {
			idle.Connect() // newer versions of gRPC don't reconnect by themselves after a connection was lost
		}
		if state == connectivity.Shutdown || !c.conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

// Close sends what Record has queued until ctx ends, and closes the connection. Calls that run, and later ones, return the caller's
// own messages. The error says that requests of Record were not sent. Idempotent.
func (c *Client) Close(ctx context.Context) error {
	c.mutex.Lock()
	already := c.closed
	c.closed = true
	c.mutex.Unlock()
	if already {
		return nil
	}
	err := c.queue.close(ctx)
	c.conn.Close()
	return err
}

func (c *Client) isClosed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.closed
}

// warn logs a reason once. A logger that panics does no harm.
func (c *Client) warn(reason, hint string) {
	c.mutex.Lock()
	known := c.warned[reason] || len(c.warned) >= maxWarnings
	if !known {
		c.warned[reason] = true
	}
	c.mutex.Unlock()
	if known {
		return
	}
	defer func() { _ = recover() }()
	if hint != "" {
		reason += ": " + hint
	}
	c.options.Log.Printf("germane: %s (said once)", reason)
}

func (o *Options) complete(target string) error {
	if strings.TrimSpace(target) == "" {
		return errors.New("germane: target must be an address such as 127.0.0.1:7411")
	}
	if scheme := strings.ToLower(target); strings.HasPrefix(scheme, "http://") || strings.HasPrefix(scheme, "https://") {
		return fmt.Errorf("germane: target %q is a web address, and gRPC takes host and port", target)
	}
	if o.Limit < 0 || o.Limit > maxLimit || o.Patience < 0 || o.Cooldown < 0 || o.QueueRequests < 0 || o.QueueBytes < 0 {
		return errors.New("germane: Limit must be at most a minute, and no time or size may be negative")
	}
	if strings.IndexFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return errors.New("germane: Key holds a character that no API key has")
	}
	if o.Key != "" && o.TLS == nil && !o.Plaintext && !local(target) {
		return fmt.Errorf("germane: target %q isn't this machine, and without TLS the key could be read on its way: "+
			"set TLS, or Plaintext where the network itself can be trusted", target)
	}
	if o.Org == "" && o.Key == "" {
		o.Org = "default"
	}
	if o.Agent == "" {
		o.Agent = "default"
	}
	orDuration(&o.Limit, defaultLimit)
	orDuration(&o.Patience, defaultPatience)
	orDuration(&o.Cooldown, time.Second)
	orInt(&o.Breaker, 5)
	orInt(&o.QueueRequests, 1024)
	orInt(&o.QueueBytes, 32<<20)
	if o.Log == nil {
		o.Log = log.Default()
	}
	return nil
}

func orDuration(value *time.Duration, otherwise time.Duration) {
	if *value == 0 {
		*value = otherwise
	}
}

func orInt(value *int, otherwise int) {
	if *value == 0 {
		*value = otherwise
	}
}

// local says whether gRPC reaches only this machine by a target; false for one that it doesn't understand.
func local(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	for _, scheme := range []string{"dns:///", "passthrough:///", "dns:", "passthrough:"} {
		if strings.HasPrefix(target, scheme) {
			target = target[len(scheme):]
			break
		}
	}
	host := target
	if name, _, err := net.SplitHostPort(target); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	address := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || address != nil && address.IsLoopback()
}

// authorized replaces the authorization in outgoing metadata: a caller's context may hold one that is meant for another service.
func (c *Client) authorized(ctx context.Context) context.Context {
	outgoing, _ := metadata.FromOutgoingContext(ctx)
	outgoing = outgoing.Copy()
	delete(outgoing, "authorization")
	if c.options.Key != "" {
		outgoing.Set("authorization", "Bearer "+c.options.Key)
	}
	return metadata.NewOutgoingContext(ctx, outgoing)
}

func (c *Client) authorizeUnary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(c.authorized(ctx), method, request, reply, conn, options...)
}

func (c *Client) authorizeStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	stream grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return stream(c.authorized(ctx), desc, conn, method, options...)
}

// plaintext is a connection without encryption. gRPC has such a type since 1.34, and Debian 12 has 1.33.
type plaintext struct{}

type plaintextInfo struct{ credentials.CommonAuthInfo }

func (plaintextInfo) AuthType() string { return "insecure" }

func (plaintext) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, plaintextInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

func (plaintext) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, plaintextInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

func (plaintext) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (plaintext) Clone() credentials.TransportCredentials { return plaintext{} }

func (plaintext) OverrideServerName(string) error { return nil }
