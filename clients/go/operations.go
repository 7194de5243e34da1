package germane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"germane/contextv1"
)

// These calls may fail: their errors are gRPC's, for google.golang.org/grpc/status, or those of JSON. Each is bounded by
// Options.Patience and by its context.

// Check returns nil where the service answers, accepts the key for the client's org and agent, and knows the strategy (empty: the
// default one). For the start of a program: without it a wrong key shows only in fallback reasons.
func (c *Client) Check(ctx context.Context, strategy string) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	_, err = contextv1.NewContextAssemblyServiceClient(c.conn).AssembleContext(ctx, &AssembleRequest{
		OrgId: c.options.Org, AgentId: c.options.Agent, Model: "gpt-4o", AvailableTokens: 1,
		Messages: []*Message{{Role: "user", Content: "check"}}, Options: &AssembleOptions{Strategy: strategy},
	})
	return err
}

// Search returns the memories and messages that answer the query best, best first.
func (c *Client) Search(ctx context.Context, request *SearchRequest) (found []*SearchResponse, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	wire := &SearchRequest{
		Scope: c.scope(request.GetScope()), Query: valid(request.GetQuery()), Limit: request.GetLimit(),
		Filters: request.GetFilters(), At: request.GetAt(), Strategy: request.GetStrategy(),
	}
	stream, err := contextv1.NewMemoryServiceClient(c.conn).Search(ctx, wire)
	if err != nil {
		return nil, err
	}
	for {
		one, err := stream.Recv()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
}

// Read calls an operation that only reads, such as "tasks.list". arguments is anything that JSON writes as an object; nil: none. The
// result is written into result as json.Unmarshal does; nil leaves it out. scope may be nil.
func (c *Client) Read(ctx context.Context, scope *Scope, operation string, arguments, result any) error {
	return called(ctx, c, arguments, result, func(ctx context.Context, written []byte) (parts[*contextv1.ReadResponse], error) {
		request := &contextv1.ReadRequest{Scope: c.scope(scope), Operation: operation, Arguments: written}
		return contextv1.NewOperationServiceClient(c.conn).Read(ctx, request)
	})
}

// Write calls an operation that writes, such as "tasks.push". Its arguments are those of Read.
func (c *Client) Write(ctx context.Context, scope *Scope, operation string, arguments, result any) error {
	return called(ctx, c, arguments, result, func(ctx context.Context, written []byte) (parts[*contextv1.WriteResponse], error) {
		request := &contextv1.WriteRequest{Scope: c.scope(scope), Operation: operation, Arguments: written}
		return contextv1.NewOperationServiceClient(c.conn).Write(ctx, request)
	})
}

// parts is the stream of a result's parts.
type parts[P interface{ GetResult() []byte }] interface {
	Recv() (P, error)
}

// called begins a call with its arguments as JSON, and collects its result.
func called[P interface{ GetResult() []byte }](
	ctx context.Context, c *Client, arguments, result any, begin func(context.Context, []byte) (parts[P], error),
) (err error) {
	defer recovered(&err)
	written, err := argumentsOf(arguments)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	stream, err := begin(ctx, written)
	if err != nil {
		return err
	}
	return collected(result, func() ([]byte, error) {
		part, err := stream.Recv()
		return part.GetResult(), err
	})
}

func (c *Client) scope(given *Scope) *Scope {
	scope := &Scope{OrgId: given.GetOrgId(), AgentId: given.GetAgentId(), UserId: given.GetUserId(), Zone: given.GetZone()}
	c.within(scope)
	return scope
}

// within fills in the client's own org and agent.
func (c *Client) within(scope *Scope) {
	if scope.OrgId == "" {
		scope.OrgId = c.options.Org
	}
	if scope.AgentId == "" {
		scope.AgentId = c.options.Agent
	}
}

func argumentsOf(arguments any) ([]byte, error) {
	if arguments == nil {
		return nil, nil
	}
	return json.Marshal(arguments)
}

func collected(result any, next func() ([]byte, error)) error {
	var all bytes.Buffer
	for {
		part, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		all.Write(part)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(all.Bytes(), result)
}

// recovered turns a panic, such as one of an interceptor of the caller's, into an error.
func recovered(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("germane: panic: %v", panicked)
	}
}
