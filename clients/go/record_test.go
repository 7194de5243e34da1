package germane

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"germane/contextv1"
)

// diary is a service that keeps what it is given, after as many failures as a test wants.
type diary struct {
	mutex    sync.Mutex
	failures int
	code     codes.Code
	kept     map[string][]string
	open     chan struct{} // closed: it answers
}

func (d *diary) record(ctx context.Context, request *RecordRequest) (*contextv1.RecordResponse, error) {
	if d.open != nil {
		select {
		case <-d.open:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.failures > 0 {
		d.failures--
		return nil, status.Error(d.code, "no")
	}
	if d.kept == nil {
		d.kept = map[string][]string{}
	}
	d.kept[request.SessionId] = append(d.kept[request.SessionId], request.Messages[0].Content)
	return &contextv1.RecordResponse{}, nil
}

func said(session, text string) *RecordRequest {
	return &RecordRequest{SessionId: session, Messages: []*Message{{Role: "user", Content: text}}}
}

func TestRecordKeepsTheOrderOfEachSession(t *testing.T) {
	noLeaks(t)
	kept := &diary{failures: 3, code: codes.Unavailable}
	client := dial(t, (&fake{record: kept.record}).serve(t), Options{Org: "acme", Agent: "support"})
	for number := 0; number < 200; number++ {
		if !client.Record(said(fmt.Sprint("s", number%7), fmt.Sprint(number/7))) {
			t.Fatal("refused")
		}
	}
	if err := client.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if stats := client.RecordStats(); stats != (RecordStats{Stored: 200}) {
		t.Fatal(stats)
	}
	for session, texts := range kept.kept {
		for number, text := range texts {
			if text != fmt.Sprint(number) {
				t.Fatal(session, texts)
			}
		}
	}
}

func TestARefusalIsNotTriedAgainAndIsLogged(t *testing.T) {
	log := &warnings{}
	kept := &diary{failures: 1, code: codes.PermissionDenied}
	client := dial(t, (&fake{record: kept.record}).serve(t), Options{Log: log})
	client.Record(said("s", "one"))
	client.Record(said("s", "two"))
	client.Flush(context.Background())
	if stats := client.RecordStats(); stats != (RecordStats{Stored: 1, Failed: 1}) || !strings.Contains(log.all(), "PERMISSION_DENIED") {
		t.Fatal(stats, log.all())
	}
}

func TestAFullQueueRefusesAtOnceAndIsBoundedInBytes(t *testing.T) {
	noLeaks(t)
	kept := &diary{open: make(chan struct{})}
	client := dial(t, (&fake{record: kept.record}).serve(t), Options{QueueRequests: 10, QueueBytes: 1000})
	accepted := 0
	for number := 0; number < 50; number++ {
		if client.Record(said("s", "short")) {
			accepted++
		}
	}
	if accepted != 10 || client.RecordStats() != (RecordStats{Queued: 10, Dropped: 40}) {
		t.Fatal(accepted, client.RecordStats())
	}
	if err := client.Flush(ended()); err == nil {
		t.Fatal("flushed")
	}
	close(kept.open)
	if err := client.Flush(context.Background()); err != nil || client.RecordStats().Stored != 10 {
		t.Fatal(err, client.RecordStats())
	}
	if client.Record(said("s", strings.Repeat("x", 1000))) || !client.Record(said("s", strings.Repeat("x", 900))) {
		t.Fatal("the bound in bytes")
	}
}

func TestWhatIsChangedAfterwardsIsStoredAsItWas(t *testing.T) {
	kept := &diary{open: make(chan struct{})}
	client := dial(t, (&fake{record: kept.record}).serve(t), Options{})
	request := said("s", "a\xffb")
	client.Record(request)
	request.SessionId, request.Messages = "other", nil
	close(kept.open)
	client.Flush(context.Background())
	if fmt.Sprint(kept.kept) != "map[s:[a\uFFFDb]]" {
		t.Fatal(kept.kept)
	}
}

func TestCloseSendsWhatIsQueuedAndSaysWhatItCouldNotSend(t *testing.T) {
	noLeaks(t)
	kept := &diary{}
	client := dial(t, (&fake{record: kept.record}).serve(t), Options{})
	for range [30]int{} {
		client.Record(said("s", "x"))
	}
	if err := client.Close(context.Background()); err != nil || client.RecordStats() != (RecordStats{Stored: 30}) {
		t.Fatal(err, client.RecordStats())
	}
	down := dial(t, raw(t, hangs), Options{})
	down.Record(said("s", "x"))
	down.Record(said("s", "y"))
	if err := down.Close(ended()); err == nil || !strings.Contains(err.Error(), "2 requests") {
		t.Fatal(err)
	}
	if stats := down.RecordStats(); stats != (RecordStats{Failed: 2}) {
		t.Fatal(stats)
	}
}

func TestManyAtOnce(t *testing.T) {
	noLeaks(t)
	kept := &diary{}
	client := dial(t, (&fake{record: kept.record}).serve(t), Options{QueueRequests: 50})
	var callers sync.WaitGroup
	for caller := 0; caller < 16; caller++ {
		callers.Add(1)
		go func(caller int) {
			defer callers.Done()
			for number := 0; number < 100; number++ {
				client.Record(said(fmt.Sprint(caller), "x"))
				if number%10 == 0 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					client.Flush(ctx)
					cancel()
				}
			}
		}(caller)
	}
	callers.Wait()
	client.Flush(context.Background())
	if stats := client.RecordStats(); stats.Stored+stats.Dropped != 1600 || stats.Queued != 0 || stats.Failed != 0 {
		t.Fatal(stats)
	}
}
