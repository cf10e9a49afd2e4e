package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
)

// maxName is how long the name of a tool may be; models take no more.
const maxName = 63

// toolName makes the name of a tool, valid for models and otherwise as written.
func toolName(prefix, id string, e endpoint) string {
	name := valid(id, "_-")
	if name == "" {
		name = valid(strings.ToLower(e.method)+e.path, "_-")
	}
	if prefix != "" {
		name = prefix + "_" + name
	}
	if name == "" || !letter(name[0]) {
		name = "op_" + name
	}
	return shortened(name, maxName)
}

// valid turns each run of characters that cannot stand in a name into "_".
func valid(s, also string) string {
	var b strings.Builder
	gap := false
	for i := range len(s) {
		c := s[i]
		if letter(c) || c >= '0' && c <= '9' || strings.IndexByte(also, c) >= 0 {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteByte(c)
			continue
		}
		gap = true
	}
	return b.String()
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// shortened cuts a name that is too long and says by a hash of the rest which one it
// was.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	return name[:most-len(tail)] + tail
}

// checkName makes an error for what cannot be the name of a header (RFC 9110,
// section 5.1) or a cookie (RFC 6265, section 4.1.1): both are tokens.
func checkName(in, name string) error {
	if (in == "header" || in == "cookie") && !httpguts.ValidHeaderFieldName(name) {
		return fmt.Errorf("%q cannot be the name of a %s", document.Clean(name, maxName), in)
	}
	return nil
}

// unique finds a name that is not taken yet, by suffix or by number, and takes it.
func unique(taken map[string]bool, name, suffix string, most int) string {
	candidate := name
	if taken[candidate] && suffix != "" {
		candidate = shortened(name+"_"+suffix, most)
	}
	for i := 2; taken[candidate]; i++ {
		candidate = shortened(fmt.Sprintf("%s_%d", name, i), most)
	}
	taken[candidate] = true
	return candidate
}
