package hosts

import (
	"fmt"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/hosts/configfile"
)

// common is the entry that most hosts have.
func common(h *host, s *server) configfile.Object {
	var o configfile.Object
	if s.url == "" {
		o.Add("type", h.shape.stdio)
		o.Add("command", s.command)
		o.Add("args", s.args)
		o.Add("env", h.env(s))
	} else {
		o.Add("type", h.shape.http)
		o.Add(h.shape.url, s.url)
		o.Add("headers", h.headers(s))
	}
	o = append(o, h.shape.more...)
	o.Add(h.limit.key, h.wait(s))
	return o
}

// codexEntry names variables instead of referring to them.
func codexEntry(h *host, s *server) configfile.Object {
	var o configfile.Object
	if s.url == "" {
		o.Add("command", s.command)
		o.Add("args", s.args)
		o.Add("env_vars", s.env)
	} else {
		o.Add("url", s.url)
		o.Add("bearer_token_env_var", s.token)
		var headers configfile.Object
		for _, header := range s.headers {
			headers.Add(header.name, header.variable)
		}
		o.Add("env_http_headers", headers)
	}
	o.Add(h.limit.key, h.wait(s))
	return o
}

// opencodeEntry has the command and its arguments in one list.
func opencodeEntry(h *host, s *server) configfile.Object {
	var o configfile.Object
	if s.url == "" {
		o.Add("type", "local")
		o.Add("command", append([]string{s.command}, s.args...))
		o.Add("environment", h.env(s))
	} else {
		o.Add("type", "remote")
		o.Add("url", s.url)
		o.Add("headers", h.headers(s))
		if s.token != "" { // or opencode would begin to sign in when the token is refused
			o.Add("oauth", false)
		}
	}
	o.Add("enabled", true)
	return o
}

// continueEntry is an item of a list, and so has its name inside.
func continueEntry(h *host, s *server) configfile.Object {
	var o configfile.Object
	o.Add("name", s.name)
	if s.url == "" {
		o.Add("type", "stdio")
		o.Add("command", s.command)
		o.Add("args", s.args)
		o.Add("env", h.env(s))
		return o
	}
	o.Add("type", "streamable-http")
	o.Add("url", s.url)
	if headers := h.headers(s); len(headers) > 0 {
		o.Add("requestOptions", configfile.Object{{Key: "headers", Value: headers}})
	}
	return o
}

// gooseEntry names the variables, and may refer to those in headers.
func gooseEntry(h *host, s *server) configfile.Object {
	o := configfile.Object{{Key: "enabled", Value: true}}
	if s.url == "" {
		o.Add("type", "stdio")
		o.Add("name", s.name)
		o.Add("cmd", s.command)
		o.Add("args", s.args)
		o.Add("env_keys", s.env)
	} else {
		o.Add("type", "streamable_http")
		o.Add("name", s.name)
		o.Add("uri", s.url)
		o.Add("headers", h.headers(s))
		o.Add("env_keys", s.secrets())
	}
	o.Add(h.limit.key, h.wait(s))
	return o
}

// env refers to each variable that the process needs.
func (h *host) env(s *server) configfile.Object {
	var o configfile.Object
	for _, name := range s.env {
		o.Add(name, h.refer(name))
	}
	return o
}

func (h *host) headers(s *server) configfile.Object {
	var o configfile.Object
	if s.token != "" && h.ref != "" {
		o.Add("Authorization", "Bearer "+h.refer(s.token))
	}
	for _, header := range s.headers {
		o.Add(header.name, h.refer(header.variable))
	}
	return o
}

// refer is what stands for a variable's value; nothing where the host has no way
// to say it.
func (h *host) refer(name string) string {
	if h.ref == "" {
		return ""
	}
	return fmt.Sprintf(h.ref, name)
}

// wait is how long the host is to wait for an answer, in its own unit.
func (h *host) wait(s *server) int {
	if h.limit.key == "" {
		return 0
	}
	n := int((s.timeout + margin + h.limit.unit - 1) / h.limit.unit)
	if h.limit.most > 0 {
		n = min(n, h.limit.most)
	}
	return n
}

// byHand says what cannot be written: values of variables in the file of a host
// that cannot refer to them.
func (h *host) byHand(s *server) string {
	switch {
	case h.ref != "":
		return ""
	case s.url == "" && len(s.env) > 0 && h.inherits:
		return fmt.Sprintf("%s passes on the environment that it was started with. If %s is not set there, put it into %s, which adkmcp reads.",
			h.title, strings.Join(s.env, ", "), s.dotenv)
	case s.url == "" && len(s.env) > 0:
		return fmt.Sprintf("%s cannot refer to variables. Put %s into %s, which adkmcp reads, or write it into the entry by hand, under env.",
			h.title, strings.Join(s.env, ", "), s.dotenv)
	case s.url == "" || len(s.secrets()) == 0:
		return ""
	}
	var lines []string
	if s.token != "" {
		lines = append(lines, "Authorization with Bearer and the value of "+s.token)
	}
	for _, header := range s.headers {
		lines = append(lines, header.name+" with the value of "+header.variable)
	}
	return fmt.Sprintf("%s cannot refer to variables. Write into the entry by hand, under headers: %s.", h.title, strings.Join(lines, "; "))
}

// capped says that the host's limit is too short for the agent.
func (h *host) capped(s *server) string {
	if h.limit.most == 0 || h.wait(s) < h.limit.most || time.Duration(h.limit.most)*h.limit.unit >= s.timeout {
		return ""
	}
	return fmt.Sprintf("%s waits %v at most, and a turn may take %v: set limits.timeout of the agent lower.",
		h.title, time.Duration(h.limit.most)*h.limit.unit, s.timeout)
}

// target gives the program that an entry starts, or the URL that it connects to,
// in the words of any host.
func target(entry any) (command, url string) {
	m, _ := entry.(map[string]any)
	if inner, ok := m["transport"].(map[string]any); ok { // Cline's longer form
		m = inner
	}
	for _, key := range []string{"command", "cmd"} {
		switch v := m[key].(type) {
		case string:
			command = v
		case []any:
			if len(v) > 0 {
				command, _ = v[0].(string)
			}
		case map[string]any: // Zed's older form
			command, _ = v["path"].(string)
		}
	}
	for _, key := range []string{"url", "httpUrl", "serverUrl", "uri"} {
		if v, ok := m[key].(string); ok {
			url = v
		}
	}
	return command, url
}

// ours reports whether an entry starts adkmcp.
func ours(entry any) bool {
	command, _ := target(entry)
	base := command[strings.LastIndexAny(command, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(base), ".exe") == "adkmcp"
}
