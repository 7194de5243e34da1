package germane

import (
	"sync"
	"time"
)

// breaker is a circuit breaker: after `after` calls in a row that hung, none is allowed for `cooldown`. Then one is allowed as a
// probe, and the others stay refused until its outcome is reported. Each allowed call is reported once, by answered, hung or release.
type breaker struct {
	after    int
	cooldown time.Duration

	mutex   sync.Mutex
	inARow  int
	open    bool
	until   time.Time
	probing bool
}

func (b *breaker) allows(now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.open {
		return true
	}
	if b.probing || now.Before(b.until) {
		return false
	}
	b.probing = true
	return true
}

// answered reports a call that got a reply, an error included.
func (b *breaker) answered() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.inARow, b.open, b.probing = 0, false, false
}

// hung reports a call that got no reply within the limit.
func (b *breaker) hung(now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.inARow++
	b.probing = false
	if b.after > 0 && b.inARow >= b.after {
		b.open, b.until = true, now.Add(b.cooldown)
	}
}

// release reports a call that says nothing about the service: the caller gave up, or it wasn't sent.
func (b *breaker) release() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.probing = false
}
