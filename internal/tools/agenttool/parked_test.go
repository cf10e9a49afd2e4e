package agenttool

import (
	"fmt"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

func TestParkingIsBounded(t *testing.T) {
	var p parking
	call := &agent.Call{Key: session.Key{Handle: "cv_1"}, Invocation: "e-1"}
	for i := range maxParked + 5 {
		key := session.Key{Handle: fmt.Sprint(i)}
		p.park(call, key)
		p.park(call, key) // it asks once more
	}
	next := &agent.Call{Key: call.Key, Invocation: "e-2"}
	keys := p.abandoned(next)
	if len(keys) != maxParked || keys[0].Handle != "5" {
		t.Errorf("%d are known, the first is %v", len(keys), keys[0])
	}
	if keys := p.abandoned(next); len(keys) != 0 {
		t.Errorf("%v are given twice", keys)
	}
}
