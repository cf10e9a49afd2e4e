package credential

import (
	"net/http"
	"strings"
)

// challenge is what a server says when it refuses a request (RFC 6750 section 3,
// RFC 9728 section 5.1).
type challenge struct {
	metadata string // resource_metadata: where the server describes itself
	failure  string // error
	scopes   []string
}

// challengeOf finds the Bearer challenge of an answer.
func challengeOf(res *http.Response) challenge {
	var c challenge
	for _, line := range res.Header.Values("WWW-Authenticate") {
		params, ok := bearer(line)
		if !ok {
			continue
		}
		c.metadata, c.failure = params["resource_metadata"], params["error"]
		c.scopes = strings.Fields(params["scope"])
		break
	}
	return c
}

// bearer gives the parameters of the Bearer challenge in a line, which may hold
// challenges of other schemes too (RFC 9110 section 11.6.1).
func bearer(line string) (map[string]string, bool) {
	var params map[string]string
	for rest := line; rest != ""; {
		rest = strings.TrimLeft(rest, ", \t")
		n := strings.IndexAny(rest, " \t,=")
		if n < 0 {
			n = len(rest)
		}
		word, after := rest[:n], strings.TrimLeft(rest[n:], " \t")
		if !strings.HasPrefix(after, "=") { // a scheme
			if params != nil {
				break
			}
			if strings.EqualFold(word, "Bearer") {
				params = map[string]string{}
			}
			rest = after
			continue
		}
		var value string
		value, rest = parameter(strings.TrimLeft(after[1:], " \t"))
		if params != nil {
			params[strings.ToLower(word)] = value
		}
	}
	return params, params != nil
}

// parameter reads a token or a quoted string, and gives what comes after it.
func parameter(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		n := strings.IndexAny(s, ", \t")
		if n < 0 {
			return s, ""
		}
		return s[:n], s[n:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
