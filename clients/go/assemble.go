package germane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"germane/contextv1"
)

// fallback is why there is no answer from the service. Its reason becomes Metadata.FallbackReason, the hint goes to the log.
type fallback struct{ reason, hint string }

func (f *fallback) Error() string { return f.reason }

var (
	errOutOfTime = &fallback{reason: "client_error:out_of_time"}
	errOversized = &fallback{reason: "client_error:oversized"}
	errBreaker   = &fallback{reason: "client_breaker_open"}
	errClosed    = &fallback{reason: "client_error:closed"}
	errAltered   = &fallback{
		reason: "client_error:altered",
		hint:   "messages in another shape than OpenAI's need its name in Options.Provider of the request",
	}
)

// Assemble returns the messages together with the context that the model needs, within Options.Limit and before ctx ends.
//
// The response always holds the caller's messages, as the same pointers where they are unchanged. Where something goes wrong it
// holds them alone: Metadata.DegradationLevel is then 3 and Metadata.FallbackReason grpc_error:CODE, client_error:WHAT or
// client_breaker_open. Text that isn't valid UTF-8 is sent with U+FFFD in its place, and comes back as it was. The request isn't
// changed, and must not be changed before Assemble returns.
func (c *Client) Assemble(ctx context.Context, request *AssembleRequest) (response *AssembleResponse) {
	started := time.Now()
	own, system := ownMessages(request)
	defer func() {
		if panicked := recover(); panicked != nil {
			if c != nil {
				c.breaker.release()
			}
			response = c.fallback(request, own, system, &fallback{reason: "client_error:panic"})
		}
	}()
	if c == nil || request == nil {
		return c.fallback(request, own, system, &fallback{reason: "client_error:InvalidInput", hint: "client and request must not be nil"})
	}
	if ctx == nil {
		ctx = context.Background()
	}
	response, err := c.assemble(ctx, started, request, own, system)
	if err != nil {
		return c.fallback(request, own, system, err)
	}
	return response
}

func (c *Client) assemble(parent context.Context, started time.Time, request *AssembleRequest, own []*Message, system string) (*AssembleResponse, error) {
	if c.isClosed() {
		return nil, errClosed
	}
	if !c.breaker.allows(started) {
		return nil, errBreaker
	}
	wire, sent, err := c.build(request, own, system)
	if err != nil {
		c.breaker.release()
		return nil, err
	}
	ctx, cancel := context.WithDeadline(parent, started.Add(c.options.Limit))
	defer cancel()
	if parent.Err() == nil && ctx.Err() != nil {
		c.breaker.release()
		return nil, errOutOfTime
	}
	answer, err := contextv1.NewContextAssemblyServiceClient(c.conn).AssembleContext(ctx, wire)
	switch code := codeOf(err); {
	case parent.Err() != nil && err != nil:
		c.breaker.release()
	case code == codes.DeadlineExceeded:
		c.breaker.hung(time.Now())
	default:
		c.breaker.answered()
	}
	if err != nil {
		return nil, statusFallback(err)
	}
	provider := wire.GetOptions().GetProvider()
	messages, err := verified(sent, answer, wire.GetOptions().GetSystemJson(), provider == "anthropic" || provider == "gemini")
	if err != nil {
		return nil, err
	}
	answer.Messages = messages
	if answer.Metadata == nil {
		answer.Metadata = &Metadata{}
	}
	return answer, nil
}

// build returns the message to send, and what each of its messages stands for.
func (c *Client) build(request *AssembleRequest, own []*Message, system string) (*AssembleRequest, []sentMessage, error) {
	wire := &AssembleRequest{}
	request.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Name() != "messages" {
			wire.ProtoReflect().Set(field, value)
		}
		return true
	})
	if wire.OrgId == "" {
		wire.OrgId = c.options.Org
	}
	if wire.AgentId == "" {
		wire.AgentId = c.options.Agent
	}
	for _, id := range []string{wire.OrgId, wire.AgentId, wire.UserId, wire.SessionId, wire.Model, wire.RequestId} {
		if !utf8.ValidString(id) {
			return nil, nil, &fallback{reason: "client_error:InvalidInput", hint: "an id or the model's name isn't valid UTF-8"}
		}
	}
	if wire.Options != nil {
		options := proto.Clone(wire.Options).(*AssembleOptions)
		options.SystemJson = valid(system)
		options.Query = valid(options.Query)
		options.ToolsJson = valid(options.ToolsJson)
		if len(options.SystemJson)+len(options.Query)+len(options.ToolsJson) > maxTextBytes {
			return nil, nil, errOversized
		}
		wire.Options = options
	}
	sent, err := sentMessages(own)
	if err != nil {
		return nil, nil, err
	}
	wire.Messages = make([]*Message, len(sent))
	for index := range sent {
		wire.Messages[index] = sent[index].wire
	}
	return wire, sent, nil
}

// fallback returns the caller's own messages with a reason, and logs the reason once.
func (c *Client) fallback(request *AssembleRequest, own []*Message, system string, err error) *AssembleResponse {
	reason := &fallback{reason: "client_error:" + strings.TrimPrefix(fmt.Sprintf("%T", err), "*")}
	errors.As(err, &reason)
	if c != nil {
		c.warn("messages go back as they came: "+reason.reason, reason.hint)
	}
	return &AssembleResponse{
		Messages:   own,
		SystemJson: system,
		Metadata:   &Metadata{FallbackReason: reason.reason, DegradationLevel: 3, RequestId: request.GetRequestId()},
	}
}

// ownMessages returns the caller's messages as a new list, and the system prompt beside them. For OpenAI, which has no other place
// for a system prompt, it becomes the first message.
func ownMessages(request *AssembleRequest) ([]*Message, string) {
	messages, system := request.GetMessages(), request.GetOptions().GetSystemJson()
	provider := request.GetOptions().GetProvider()
	if system == "" || provider != "" && provider != "openai" {
		return append([]*Message(nil), messages...), system
	}
	text, ok := systemText(system)
	if !ok {
		return append([]*Message(nil), messages...), system
	}
	if strings.TrimSpace(text) == "" {
		return append([]*Message(nil), messages...), ""
	}
	first := &Message{Role: "system", Content: text}
	for _, message := range messages {
		if message.GetJson() != "" {
			first.Json = compactJSON(map[string]any{"role": "system", "content": text})
			break
		}
	}
	return append([]*Message{first}, messages...), ""
}

// systemText returns the text of a system prompt in JSON: a string, a list of text blocks, or an object with such a list.
func systemText(written string) (string, bool) {
	var value any
	if json.Unmarshal([]byte(written), &value) != nil {
		return "", false
	}
	if object, isObject := value.(map[string]any); isObject {
		value = object["parts"]
	}
	switch value := value.(type) {
	case string:
		return value, true
	case []any:
		var texts []string
		for _, block := range value {
			if text, isText := textOf(block); isText {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n\n"), true
	}
	return "", false
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// codeNames has gRPC's own spelling of the codes, which fallback reasons of all clients share.
var codeNames = [...]string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
	"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return status.Code(err)
}

func statusFallback(err error) *fallback {
	code, name, hint := codeOf(err), "UNKNOWN", ""
	if int(code) < len(codeNames) {
		name = codeNames[code]
	}
	switch code { // refusals that the caller can end; such texts hold no content of messages
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied:
		said := []rune(status.Convert(err).Message())
		if len(said) > 200 {
			said = said[:200]
		}
		hint = fmt.Sprintf("%q", string(said))
	}
	return &fallback{reason: "grpc_error:" + name, hint: hint}
}
