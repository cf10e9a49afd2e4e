package config

import "testing"

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b\nc", true},
		{"read_*", "read_file", true}, {"read_*", "read_", true}, {"read_*", "a_read_", false},
		{"*file", "read_file", true}, {"*file", "read_files", false},
		{"a*b*c", "abc", true}, {"a*b*c", "a--b--b--c", true}, {"a*b*c", "a--c--b", false},
		{"a*a", "a", false}, {"**", "x", true}, {"a.c", "abc", false}, {"a?c", "abc", false}, {"*é*", "café", true},
	} {
		if got := Glob(tc.pattern, tc.s); got != tc.want {
			t.Errorf("%q matches %q: %v, want %v", tc.pattern, tc.s, got, tc.want)
		}
	}
}
