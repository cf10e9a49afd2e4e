package condition

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// arguments reads JSON as calls do.
func arguments(t testing.TB, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var args map[string]any
	if err := dec.Decode(&args); err != nil {
		t.Fatal(err)
	}
	return args
}

func stateOf(m map[string]any) func(string) (any, bool) {
	return func(key string) (any, bool) { v, ok := m[key]; return v, ok }
}

func TestEval(t *testing.T) {
	state := stateOf(map[string]any{
		"plan": "pro", "user:name": "Ann", "n": json.Number("3"), "i": 7, "i64": int64(8), "f": 1.5, "large": float64(1 << 53), "list": []string{"a", "b"},
		"at": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "none": nil,
	})
	const args = `{"amount": 150, "price": 9.5, "big": 9007199254740993, "huge": 1e22, "float": 9007199254740993.0, "exp": 9.007199254740993e15, "path": "/tmp/x", "paths": ["/tmp/a", "/etc/b"],
		"on": true, "items": [{"n": 1}, {"n": 20}], "null": null, "deep": {"a": {"b": 1}}, "whole": 2.0, "neg": -5}`
	for text, want := range map[string]bool{
		`args.amount > 100`: true, `args.amount > 150`: false, `args.amount >= 150.0`: true, `args.price == 9.5`: true,
		`args.big == 9007199254740993`: true, `args.big > 9007199254740992`: true, `args.big == 9007199254740992`: false,
		`args.float > 9007199254740992`: true, `args.exp > 9007199254740992`: true, `args.exp == args.float and args.exp == args.big`: true,
		`args.exp < 9007199254740994`: true, `state.large > 9007199254740992`: false, `state.large < 9007199254740993`: true,
		`args.huge > 5`: true, `args.whole == 2`: true, `args.whole in 1..3`: true, `args.amount in [1, 150]`: true,
		`args.amount * args.price > 1424`: true, `args.amount + 1 == 151 and args.amount - 1 == 149`: true, `-args.neg == 5`: true, `args.amount % 7 == 3`: true,
		`args.amount / 4 == 37.5`: true, `2 ** 10 == 1024`: true, `2 ^ 2 == 4`: true, `abs(args.neg) == 5`: true,
		`args.path startsWith "/tmp/"`: true, `not (args.path startsWith "/tmp/")`: false, `args.path matches "^/(tmp|var)/"`: true,
		`args.path + "y" == "/tmp/xy"`: true, `upper(args.path) contains "TMP"`: true, `len(args.paths) == 2`: true,
		`any(args.paths, # startsWith "/etc")`: true, `all(args.paths, {# startsWith "/tmp"})`: false, `args.paths[-1] == "/etc/b"`: true,
		`any(args.items, .n > 10)`: true, `count(args.items, .n > 0) == 2`: true, `none(args.items, any(args.items, .n > 30))`: true, `one(args.items, .n == 1)`: true,
		`args.on`: true, `args.on == true and true`: true, `args.missing == nil`: true, `args.null == nil`: true, `args.missing != 5`: true,
		`args.missing in [1]`: false, `"amount" in args`: true, `"missing" in args`: false, `args.missing?.b == nil`: true,
		`args.deep.a.b == 1`: true, `args["deep"]["a"]["b"] == 1`: true, `(args.missing ?? 5) > 4`: true, `args.on ? true : false`: true,
		`tool == "pay"`: true, `tool matches "^p"`: true, `hints.read_only`: true, `hints.destructive or hints.open_world or hints.idempotent`: false,
		`annotations.title == "Pay"`: true, `annotations.destructiveHint`: true, `"title" in annotations`: true,
		`state.plan == "pro"`: true, `state["user:name"] == "Ann"`: true, `state.n > 2 and state.i == 7 and state.i64 == 8 and state.f < 2`: true,
		`"b" in state.list`: true, `state.at startsWith "2026-01-02T"`: true, `state.gone == nil`: true, `"plan" in state`: true, `"gone" in state`: false,
		`"none" in state`: true, `state?.plan == "pro"`: true, `max(args.amount, 3) == 150 and min(1, 2) == 1`: true,
		`ceil(args.price) == 10 and floor(args.price) == 9 and round(args.price) == 10`: true, `trim(" a ") == "a" and lower("A") == "a"`: true,
		"args.amount >\n 100": true, `args.amount > 100 // cents`: true,
	} {
		t.Run(text, func(t *testing.T) {
			p, err := Approval(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(Env{
				Args: arguments(t, args), Tool: "pay", Hints: Hints{ReadOnly: true}, State: state,
				Annotations: map[string]any{"title": "Pay", "destructiveHint": true},
			})
			if err != nil || got != want {
				t.Errorf("got %v, %v", got, err)
			}
			if p.String() != text {
				t.Errorf("text %q", p)
			}
		})
	}
}

// What cannot be decided is an error, in one line and without Go in it.
func TestEvalErrors(t *testing.T) {
	items := `{"list": [` + strings.TrimSuffix(strings.Repeat("1,", 5000), ",") + `], "text": "` + strings.Repeat("x", 100_000) + `"}`
	for _, tc := range []struct{ text, args, want string }{
		{`args.amount < 100`, `{}`, `it cannot be decided for these values, at column 13 (not set: args.amount)`},
		{`args.amount < 100`, `{"amount": null}`, `it cannot be decided for these values, at column 13 (not set: args.amount)`},
		{`args.amount < 100`, `{"amount": "5"}`, `it cannot be decided for these values, at column 13`},
		{"true and\n args.a.b == 1", `{}`, `it cannot be decided for these values, at line 2, column 9 (not set: args.a)`},
		{`args["a-b"] > state["user:n"]`, `{}`, `it cannot be decided for these values, at column 13 (not set: args["a-b"], state["user:n"])`},
		{`args.on`, `{}`, `it gives neither true nor false for this call (not set: args.on)`},
		{`args.on`, `{"on": 1}`, `it gives neither true nor false for this call`},
		{`not args.on`, `{}`, `it cannot be decided for these values, at column 1 (not set: args.on)`},
		{`args.on and true`, `{"on": 1}`, `it cannot be decided for these values, at column 9`},
		{`args.list[3] == 1`, `{"list": [1]}`, `it cannot be decided for these values, at column 10`},
		{`args.a % args.b == 0`, `{"a": 1, "b": 0}`, `it cannot be decided for these values, at column 8`},
		{`args.x matches args.y`, `{"x": "a", "y": "("}`, `it cannot be decided for these values, at column 8`},
		{`any(args.x, true)`, `{"x": 5}`, `it cannot be decided for these values, at column 1`},
		// Numbers that would compare wrongly.
		{`args.n > 100`, `{"n": 12345678901234567890}`, `args: a number has more digits than can be compared`},
		{`args.n > 0.1`, `{"n": 0.1000000000000000001}`, `args: a number has more digits than can be compared`},
		{`args.n > 100`, `{"n": 1e999}`, `args: a number has more digits than can be compared`},
		{`args.n > 9007199254740992`, `{"n": 9007199254740992.5}`, `args: a number has more digits than can be compared`},
		{`args.n > 5`, `{"n": -1e30}`, `args: a number has more digits than can be compared`},
		{`args.n > 5`, `{"n": 1e23}`, `args: a number has more digits than can be compared`},
		{`args.n > 0`, `{"n": 1e-999}`, `args: a number is too small to be compared`},
		{`args.n * 4 > 100`, `{"n": 4611686018427387904}`, `the result of * is too large a number`},
		{`args.n * args.n > 100`, `{"n": -9223372036854775807}`, `the result of * is too large a number`},
		{`args.n + 1 > 100`, `{"n": 9223372036854775807}`, `the result of + is too large a number`},
		{`args.n - 9 > 100`, `{"n": -9223372036854775807}`, `the result of - is too large a number`},
		{`args.n - 1 > 100`, `{"n": -9223372036854775807}`, `the result of - is too large a number`}, // the least int
		{`args.n * 1e308 > 100`, `{"n": 10.5}`, `the result of * is no number`},
		{`args.n / args.n > 100`, `{"n": 0}`, `the result of / is no number`},
		{`args.n ** 0.5 > 100`, `{"n": -1}`, `the result of ** is no number`},
		{`args.n ^ 2 > 100`, `{"n": "a"}`, `^ has something else than numbers beside it`},
		{`args.n + 1 > 100`, `{"n": "a"}`, `+ has something else than numbers beside it`},
		// Bounds.
		{`all(args.list, any(args.list, # > 2))`, items, `it takes too long for these values`},
		{`any(args.list, args.text contains "y")`, items, `it takes too long for these values`},
		{`any(1..200000, # > 0)`, `{}`, `it cannot be decided for these values, at column 6`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			p, err := Approval(tc.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(Env{Args: arguments(t, tc.args)})
			if err == nil || got || err.Error() != tc.want {
				t.Errorf("got %v, %v; want %s", got, err, tc.want)
			}
		})
	}
}

func TestEvalOddValues(t *testing.T) {
	p, err := When(`state.x == 1`)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{math.NaN(), math.Inf(1), func() {}, []any{math.NaN()}, map[string]any{"a": json.Number("1e999")}} {
		if _, err := p.Eval(Env{State: stateOf(map[string]any{"x": v})}); err == nil || !strings.HasPrefix(err.Error(), "state: a ") {
			t.Errorf("%v: %v", v, err)
		}
	}
	// What is not read can be anything.
	if got, err := p.Eval(Env{State: stateOf(map[string]any{"x": 1, "y": math.NaN()}), Args: map[string]any{"n": math.NaN()}}); err != nil || !got {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	names := []string{"amount", "account", "list", "note"}
	for _, tc := range []struct{ text, want string }{
		{" ", "the condition is empty"},
		{strings.Repeat(" ", MaxBytes) + "1", "the condition has 4097 bytes; at most 4096 are read"},
		{`args.amout > 1`, `at column 6: the tool has no argument "amout"; near: amount`},
		{`args["amout"] > 1`, `at column 5: the tool has no argument "amout"; near: amount`},
		{`"amout" in args`, `at column 9: the tool has no argument "amout"; near: amount`},
		{`foo > 1`, `at column 1: there is no "foo" here; a condition reads annotations, args, hints, state and tool`},
		{`"é" == foo`, `at column 8: there is no "foo" here; a condition reads annotations, args, hints, state and tool`},
		{`$env.args == nil`, `at column 1: there is no "$env" here; a condition reads annotations, args, hints, state and tool`},
		{`hints.readonly`, `at column 7: there is no hint "readonly"; the hints are destructive, idempotent, open_world and read_only`},
		{`true and len(state) == 0 or state == nil`, `at column 14: state can only be read key by key, as state.NAME or state["user:name"]`},
		{`state[args.amount] == 1`, `at column 1: state can only be read key by key, as state.NAME or state["user:name"]`},
		{`now() > 1`, `at column 1: there is no function now; the functions are ` + strings.Join(functions(), ", ")},
		{`args.list.join()`, `at column 11: there is no function join; the functions are ` + strings.Join(functions(), ", ")},
		{`map(args.list, #) == []`, `at column 1: there is no function map; the functions are ` + strings.Join(functions(), ", ")},
		{`repeat("a", 1000000) == ""`, `at column 1: there is no function repeat; the functions are ` + strings.Join(functions(), ", ")},
		{`let a = 1; a > 1`, `a condition is one expression, without let and ;`},
		{`args.amount; true`, `a condition is one expression, without let and ;`},
		{`args.amount <`, `at column 13: unexpected EOF`},
		{"args.amount\n  < 'a' + 1", `at line 2, column 9: invalid operation: + (not for types text and integer)`},
		{`1 + 1`, `expected true or false, but got integer`},
		{`tool`, `expected true or false, but got text`},
		{`tool == 3`, `at column 6: invalid operation: == (not for types text and integer)`},
		{`not 3.5`, `at column 1: invalid operation: not (not for type number)`},
		{`[1] < {}`, `at column 5: invalid operation: < (not for types list and mapping)`},
		{`args.amount > 12345678901234567890`, `at column 34: invalid integer literal`},
		{`args.note matches "("`, "at column 11: error parsing regexp: missing closing ): `(`"},
		{`tool.Reset`, `at column 6: type text has no field Reset`},
		{`all(args.list, 1)`, `at column 16: predicate should return boolean (got integer)`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			_, err := Approval(tc.text, names)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
	for _, text := range []string{`args.amount > 1`, `tool == "x"`, `hints.read_only`, `annotations.title == nil`} {
		if _, err := When(text); err == nil || !strings.HasSuffix(err.Error(), "here; a condition reads state") {
			t.Errorf("When(%s): %v", text, err)
		}
	}
	if _, err := Approval(`args.a == 1`, []string{}); err == nil || err.Error() != `at column 6: the tool has no argument "a"; it has none` {
		t.Error(err)
	}
	if _, err := Approval(`args.zzz == 1`, names); err == nil || err.Error() != `at column 6: the tool has no argument "zzz"; it has amount, account, list and note` {
		t.Error(err)
	}
	if _, err := Approval(`args.zzz == 1`, strings.Split("a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2 b3", " ")); err == nil || !strings.HasSuffix(err.Error(), "it has a1, a2, a3, a4, a5, a6, a7, a8, a9, b1 and 2 more") {
		t.Error(err)
	}
}

// Whatever is written ends, and its errors are single lines.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`args.amount > 100 and state["user:a"] == nil`, `any(args.list, all(args.list, # == 1))`, `1..3 == [1,2,3]`, `args?.a?.b[1:2] ?? true`,
		`{"a": 1}.a == 1`, strings.Repeat("(", 2000), strings.Repeat("not ", 1000) + "true", strings.Repeat("[", 1300) + strings.Repeat("]", 1300),
		`-9223372036854775808 < 1`, `args | any(# > 1)`, "\x00'\n", `if tool == "a" { true } else { false }`, `b"a" == "a"`,
	} {
		f.Add(s, `{"amount": 1, "list": [1, "a", null, {}]}`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		p, err := Approval(text, nil)
		if err == nil {
			env := Env{State: func(string) (any, bool) { return 1, true }}
			_ = json.Unmarshal([]byte(args), &env.Args) // or none
			_, err = p.Eval(env)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "interface {}")) {
			t.Errorf("%q", err)
		}
	})
}

func TestConcurrentEval(t *testing.T) {
	p, err := Approval(`any(args.list, # > args.n + 1)`, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for i := range 8 {
		go func() {
			args := map[string]any{"list": []any{1, 2, 3, 4}, "n": i}
			got, err := p.Eval(Env{Args: args})
			if want := i < 3; err == nil && got != want {
				err = fmt.Errorf("n = %d: %v", i, got)
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	p, err := Approval(`args.amount > 100 and args.currency == "EUR"`, nil)
	if err != nil {
		b.Fatal(err)
	}
	env := Env{Args: map[string]any{"amount": json.Number("150"), "currency": "EUR"}}
	b.ReportAllocs()
	for b.Loop() {
		if got, err := p.Eval(env); err != nil || !got {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkApproval(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Approval(`args.amount > 100 and args.currency == "EUR"`, nil); err != nil {
			b.Fatal(err)
		}
	}
}
