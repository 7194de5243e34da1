package germane

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"germane/contextv1"
)

const (
	lanes       = 4 // the requests of one session are sent in order, by one lane
	retryFor    = 30 * time.Second
	firstPause  = 100 * time.Millisecond
	longestWait = 2 * time.Second
)

// RecordStats counts requests of Record.
type RecordStats struct {
	// Queued wait or are being sent.
	Queued int
	// Stored were accepted by the service.
	Stored int
	// Failed were given up: the service refused them, or couldn't be reached for 30 s.
	Failed int
	// Dropped weren't queued, because the queue was full or the client closed.
	Dropped int
}

// queue sends what Record is given. Its bounds hold for what waits and what is being sent.
type queue struct {
	client  *Client
	lanes   [lanes]chan queued
	stop    context.Context
	halt    context.CancelFunc
	workers sync.WaitGroup

	mutex  sync.Mutex
	stats  RecordStats
	bytes  int
	closed bool
}

// queued is a request, or a mark that Flush waits for.
type queued struct {
	request *RecordRequest
	size    int
	since   time.Time
	mark    chan<- struct{}
}

// Record queues the messages of a conversation to be stored, and returns at once. It returns false, and stores nothing, where the
// queue is full, the client is closed, or the request is nil or larger than the service takes.
//
// A lost connection and a service that is overloaded or restarts are tried again for 30 s: storing is idempotent. The request isn't
// changed, and may be changed afterwards, but for the messages that it points to.
func (c *Client) Record(request *RecordRequest) (accepted bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			accepted = false
		}
	}()
	if c == nil || request == nil {
		return false
	}
	wire := c.recordable(request)
	size := proto.Size(wire)
	q := c.queue
	q.mutex.Lock()
	reason := ""
	switch {
	case q.closed:
		reason = "closed"
	case size > maxTextBytes:
		reason = "oversized"
	case q.stats.Queued >= c.options.QueueRequests || q.bytes+size > c.options.QueueBytes:
		reason = "queue_full"
	default:
		select {
		case q.lanes[laneOf(wire)] <- queued{request: wire, size: size, since: time.Now()}:
			q.stats.Queued++
			q.bytes += size
		default: // marks of Flush took the room
			reason = "queue_full"
		}
	}
	if reason != "" {
		q.stats.Dropped++
	}
	q.mutex.Unlock()
	if reason != "" {
		c.warn("a request of Record isn't sent: "+reason, "")
	}
	return reason == ""
}

// Flush waits until all that was queued before is stored or given up. The error is that of ctx.
func (c *Client) Flush(ctx context.Context) error { return c.queue.flush(ctx) }

// RecordStats returns what became of the requests of Record so far.
func (c *Client) RecordStats() RecordStats {
	c.queue.mutex.Lock()
	defer c.queue.mutex.Unlock()
	return c.queue.stats
}

// recordable returns a copy with the client's org and agent, and with text that gRPC can send.
func (c *Client) recordable(request *RecordRequest) *RecordRequest {
	scope := request.GetScope()
	wire := &RecordRequest{
		Scope: &Scope{
			OrgId: scope.GetOrgId(), AgentId: scope.GetAgentId(), UserId: scope.GetUserId(), Zone: scope.GetZone(),
		},
		SessionId: request.SessionId, SourceKind: request.SourceKind, Channel: request.Channel,
		Messages: make([]*Message, len(request.Messages)),
	}
	c.within(wire.Scope)
	for index, one := range request.Messages {
		wire.Messages[index] = &Message{Role: valid(one.GetRole()), Content: valid(one.GetContent()), Json: valid(one.GetJson())}
	}
	return wire
}

func laneOf(request *RecordRequest) uint32 {
	hash := fnv.New32a()
	for _, part := range []string{request.Scope.OrgId, request.Scope.AgentId, request.Scope.UserId, request.SessionId} {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	return hash.Sum32() % lanes
}

func newQueue(client *Client) *queue {
	q := &queue{client: client}
	q.stop, q.halt = context.WithCancel(context.Background())
	for index := range q.lanes {
		lane := make(chan queued, client.options.QueueRequests)
		q.lanes[index] = lane
		q.workers.Add(1)
		go q.work(lane)
	}
	return q
}

func (q *queue) work(lane <-chan queued) {
	defer q.workers.Done()
	for {
		select {
		case <-q.stop.Done():
			return
		case one := <-lane:
			if one.mark != nil {
				one.mark <- struct{}{}
				continue
			}
			err := q.send(one)
			q.mutex.Lock()
			q.stats.Queued--
			q.bytes -= one.size
			if err == nil {
				q.stats.Stored++
			} else {
				q.stats.Failed++
			}
			q.mutex.Unlock()
			if err != nil {
				failed := statusFallback(err)
				q.client.warn("a request of Record failed: "+failed.reason, failed.hint)
			}
		}
	}
}

func (q *queue) send(one queued) error {
	pause := firstPause
	for {
		err := q.attempt(one.request)
		switch codeOf(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted:
		default:
			return err
		}
		if time.Since(one.since) > retryFor {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-q.stop.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		if pause *= 2; pause > longestWait {
			pause = longestWait
		}
	}
}

func (q *queue) attempt(request *RecordRequest) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(q.stop, q.client.options.Patience)
	defer cancel()
	_, err = contextv1.NewMessageServiceClient(q.client.conn).Record(ctx, request)
	return err
}

func (q *queue) flush(ctx context.Context) error {
	marks := make(chan struct{}, lanes)
	for _, lane := range q.lanes {
		select {
		case lane <- queued{mark: marks}:
		case <-ctx.Done():
			return ctx.Err()
		case <-q.stop.Done():
			return nil
		}
	}
	for range q.lanes {
		select {
		case <-marks:
		case <-ctx.Done():
			return ctx.Err()
		case <-q.stop.Done():
			return nil
		}
	}
	return nil
}

// close takes nothing more, waits for what is queued until ctx ends, and ends the workers.
func (q *queue) close(ctx context.Context) error {
	q.mutex.Lock()
	q.closed = true
	q.mutex.Unlock()
	_ = q.flush(ctx)
	q.mutex.Lock()
	left := q.stats.Queued
	q.mutex.Unlock()
	q.halt()
	q.workers.Wait()
	q.mutex.Lock()
	q.stats.Failed += q.stats.Queued
	q.stats.Queued = 0
	q.mutex.Unlock()
	if left > 0 {
		return fmt.Errorf("germane: %d requests of Record were not sent", left)
	}
	return nil
}
