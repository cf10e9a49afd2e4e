package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// add adds a task of a principal, whose Stop does nothing.
func add(tt *Table, id, principal string) *Task {
	return tt.Add(Spec{ID: id, Principal: principal, Kept: time.Hour, Expected: time.Minute, Stop: func(context.Context) {}})
}

func (t *Task) shows() string {
	state, _, _ := t.detailed()
	return fmt.Sprint(state["status"])
}

// TestOverIsOver: nothing changes a task that is over, whichever comes first.
func TestOverIsOver(t *testing.T) {
	question := []*session.Suspension{{CallID: "c", Kind: "question", Message: "?"}}
	tt := NewTable(time.Now, time.Hour)
	gone := add(tt, "a", "ann")
	gone.Cancel(t.Context())
	answers := gone.Ask(t.Context(), question)
	gone.Finish(json.RawMessage("{}"))
	if got := gone.shows(); answers != nil || got != "cancelled" {
		t.Errorf("cancelled, then %s with %v", got, answers)
	}
	done := add(tt, "b", "ann")
	done.Finish(json.RawMessage("{}"))
	done.Cancel(t.Context())
	if got := done.shows(); got != "completed" {
		t.Errorf("completed, then %s", got)
	}
}

// TestBounds: one principal's tasks at work, all tasks, and what their results
// hold.
func TestBounds(t *testing.T) {
	tt := NewTable(time.Now, time.Hour)
	for i := range maxWorking {
		if add(tt, fmt.Sprint(i), "ann") == nil {
			t.Fatalf("no task %d", i)
		}
	}
	if add(tt, "more", "ann") != nil || add(tt, "bobs", "bob") == nil {
		t.Error("the bound is not ann's own")
	}
	tt = NewTable(time.Now, time.Hour)
	for i := range maxTasks + 10 {
		add(tt, fmt.Sprint(i), "ann").Finish(json.RawMessage("{}"))
	}
	if len(tt.all) != maxTasks {
		t.Errorf("%d tasks", len(tt.all))
	}
	tt = NewTable(time.Now, time.Hour)
	half := json.RawMessage(strings.Repeat(" ", maxBytes/2+1))
	add(tt, "old", "ann").Finish(half)
	add(tt, "working", "ann")
	add(tt, "new", "ann").Finish(half)
	if tt.all["old"] != nil || tt.all["new"] == nil || tt.all["working"] == nil {
		t.Errorf("kept %d", len(tt.all))
	}
}

// TestKept: a task is there for as long as it works, and then for its time.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tt := NewTable(time.Now, time.Hour)
		task := add(tt, "a", "ann")
		time.Sleep(10 * time.Hour)
		if len(tt.of("ann", []string{"a"})) != 1 {
			t.Error("gone while it worked")
		}
		task.Finish(json.RawMessage("{}"))
		time.Sleep(time.Hour - time.Second)
		if len(tt.of("ann", []string{"a"})) != 1 || len(tt.of("bob", []string{"a"})) != 0 {
			t.Error("gone before its time, or there for others")
		}
		time.Sleep(time.Second)
		if len(tt.of("ann", []string{"a"})) != 0 {
			t.Error("there after its time")
		}
	})
}
