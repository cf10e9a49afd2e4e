package config

import (
	"encoding/json"
	"fmt"
	"testing"
)

func printed(s Secret) []string {
	raw, _ := json.Marshal(s)
	value, _ := s.MarshalYAML()
	return []string{s.String(), s.GoString(), fmt.Sprintf("%v", s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), s.LogValue().String(), string(raw), fmt.Sprint(value)}
}

func TestSecretsDoNotPrint(t *testing.T) {
	for _, got := range printed(NewSecret("canary")) {
		if got != redacted && got != `"`+redacted+`"` {
			t.Errorf("printed %s", got)
		}
	}
}
