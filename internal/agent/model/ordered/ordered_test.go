package ordered_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

func TestOrderAndDigitsStay(t *testing.T) {
	const text = `{"z":12345678901234567890,"a":{"c":1.50,"b":["<&>",null,true]}}`
	v, err := ordered.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := ordered.Encode(v)
	if err != nil || string(out) != text {
		t.Errorf("%s, %v", out, err)
	}
	if again, _ := ordered.Parse([]byte(strings.ReplaceAll(text, ",", " , "))); !ordered.Same(v, again) {
		t.Error("blanks make a difference")
	}
	if other, _ := ordered.Parse([]byte(`{"a":{"c":1.50,"b":["<&>",null,true]},"z":12345678901234567890}`)); ordered.Same(v, other) {
		t.Error("the order makes none")
	}
}

func TestMembers(t *testing.T) {
	o := ordered.Of("a", "1")
	o.Set("b", ordered.Of("x", nil))
	o.Set("c", "3")
	before, c := o.Keys(), o.Clone()
	o.Remove("a", "nothing")
	o.Set("b", "2")
	if !slices.Equal(before, []string{"a", "b", "c"}) || !slices.Equal(o.Keys(), []string{"b", "c"}) || o.Has("a") || o.Get("b") != "2" || o.Child("b") != nil {
		t.Errorf("before %v, now %v", before, o.Keys())
	}
	if !c.Has("a") || c.Child("b") == nil {
		t.Error("the copy changed")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "{", "{} {}", `{"a":}`, "[1,]", strings.Repeat("[", 6000) + strings.Repeat("]", 6000)} {
		if _, err := ordered.Parse([]byte(text)); err == nil {
			t.Errorf("%.20s is taken", text)
		}
	}
}
