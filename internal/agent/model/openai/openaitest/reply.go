package openaitest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Reply is what the service answers with.
type Reply struct {
	Status int
	Header map[string]string
	// Events are the JSON of the events of a stream; if nil, Body is sent as it is.
	Events []string
	Body   string
	Cut    bool // drops the connection in the middle of one more event
	Half   bool // ends the stream there
	Hang   bool // keeps the connection open after the last event
	Noise  bool // comments, other fields, unknown events, blank lines and [DONE] in between
	// Pace, if set, is called before each event is sent.
	Pace func(event int)

	output []Output
}

// Output is an item of an answer.
type Output struct {
	ID     string
	Raw    json.RawMessage
	added  string   // the item as it begins
	deltas []string // events between its beginning and its end, without output_index
}

// Usage is that of every answer.
const Usage = `{"input_tokens":20,"input_tokens_details":{"cached_tokens":4},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":29}`

// Answer is a whole answer of some items.
func Answer(items ...Output) Reply {
	return stream("response.completed", `"status":"completed","error":null,"incomplete_details":null`, items)
}

// Incomplete is an answer that ended for a reason: max_output_tokens or
// content_filter.
func Incomplete(reason string, items ...Output) Reply {
	return stream("response.incomplete", `"status":"incomplete","error":null,"incomplete_details":{"reason":`+quote(reason)+`}`, items)
}

// Failed is an answer that failed after some items.
func Failed(code, message string, items ...Output) Reply {
	return stream("response.failed", `"status":"failed","incomplete_details":null,"error":{"code":`+quote(code)+`,"message":`+quote(message)+`}`, items)
}

// Say is an answer of text in one piece.
func Say(text string) Reply { return Answer(Text(text)) }

// Unfinished is an answer without its last event.
func (r Reply) Unfinished() Reply {
	r.Events = r.Events[:len(r.Events)-1]
	return r
}

// Whole is the answer as the API gives it without streaming.
func (r Reply) Whole() Reply {
	var last struct {
		Response json.RawMessage `json:"response"`
	}
	_ = json.Unmarshal([]byte(r.Events[len(r.Events)-1]), &last) // made by stream
	return Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: string(last.Response), output: r.output}
}

func stream(last, end string, items []Output) Reply {
	raws := make([]string, len(items))
	response := func(more, output string) string {
		return `{"id":"resp_1","object":"response","created_at":1,"model":"fake","output":[` + output + `],"store":false,` + more + `}`
	}
	begun := `"status":"in_progress","error":null,"incomplete_details":null,"usage":null`
	r := Reply{Status: 200, output: items, Events: []string{
		`{"type":"response.created","sequence_number":0,"response":` + response(begun, "") + `}`,
		`{"type":"response.in_progress","sequence_number":1,"response":` + response(begun, "") + `}`,
	}}
	for i, o := range items {
		raws[i] = string(o.Raw)
		at := fmt.Sprintf(`"output_index":%d`, i)
		r.Events = append(r.Events, `{"type":"response.output_item.added",`+at+`,"item":`+o.added+`}`)
		for _, d := range o.deltas {
			r.Events = append(r.Events, `{`+at+`,`+d+`}`)
		}
		r.Events = append(r.Events, `{"type":"response.output_item.done",`+at+`,"item":`+raws[i]+`}`)
	}
	r.Events = append(r.Events, `{"type":"`+last+`","response":`+response(end+`,"usage":`+Usage, strings.Join(raws, ","))+`}`)
	return r
}

// Fail is an error as the service words them; an empty code is null.
func Fail(status int, code, message string) Reply {
	shown := "null"
	if code != "" {
		shown = quote(code)
	}
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return Reply{Status: status, Header: map[string]string{"Content-Type": "application/json"},
		Body: fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":null,"code":%s}}`, quote(message), kind, shown)}
}

// Text is a message that comes in pieces.
func Text(pieces ...string) Output { return Phase("", pieces...) }

// Phase is a message of a phase: commentary or final_answer.
func Phase(phase string, pieces ...string) Output {
	id := "msg_" + suffix(phase+strings.Join(pieces, ""))
	mark := ""
	if phase != "" {
		mark = `"phase":` + quote(phase) + `,`
	}
	part := func(text string) string {
		return `{"type":"output_text","text":` + quote(text) + `,"annotations":[],"logprobs":[]}`
	}
	o := Output{ID: id, added: `{"id":"` + id + `","type":"message",` + mark + `"role":"assistant","status":"in_progress","content":[]}`}
	o.deltas = append(o.deltas, `"type":"response.content_part.added","content_index":0,"part":`+part(""))
	for _, p := range pieces {
		o.deltas = append(o.deltas, `"type":"response.output_text.delta","content_index":0,"delta":`+quote(p)+`,"logprobs":[],"obfuscation":"xx"`)
	}
	all := strings.Join(pieces, "")
	o.deltas = append(o.deltas, `"type":"response.output_text.done","content_index":0,"text":`+quote(all), `"type":"response.content_part.done","content_index":0,"part":`+part(all))
	o.Raw = json.RawMessage(`{"id":"` + id + `","type":"message",` + mark + `"role":"assistant","status":"completed","content":[` + part(all) + `]}`)
	return o
}

// Refusal is a message by which the model refuses.
func Refusal(text string) Output {
	return Output{ID: "msg_refusal", added: `{"id":"msg_refusal","type":"message","role":"assistant","content":[]}`,
		deltas: []string{`"type":"response.refusal.delta","delta":` + quote(text), `"type":"response.refusal.done","refusal":` + quote(text)},
		Raw:    json.RawMessage(`{"id":"msg_refusal","type":"message","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":` + quote(text) + `}]}`)}
}

// Thought is an item of thoughts, with summaries of them.
func Thought(id string, summaries ...string) Output {
	o := Output{ID: id, added: `{"id":"` + id + `","type":"reasoning","summary":[]}`}
	parts := make([]string, len(summaries))
	for i, s := range summaries {
		parts[i] = `{"type":"summary_text","text":` + quote(s) + `}`
		o.deltas = append(o.deltas,
			fmt.Sprintf(`"type":"response.reasoning_summary_part.added","summary_index":%d,"part":{"type":"summary_text","text":""}`, i),
			fmt.Sprintf(`"type":"response.reasoning_summary_text.delta","summary_index":%d,"delta":%s`, i, quote(s)))
	}
	o.Raw = json.RawMessage(`{"id":"` + id + `","type":"reasoning","summary":[` + strings.Join(parts, ",") + `],"encrypted_content":"sealed-` + id + `"}`)
	return o
}

// Call is a call of one of the client's tools; args is text.
func Call(callID, name, args string) Output {
	id := "fc_" + suffix(callID)
	item := func(status, args string) string {
		return `{"id":"` + id + `","type":"function_call","status":"` + status + `","call_id":` + quote(callID) + `,"name":` + quote(name) + `,"arguments":` + quote(args) + `}`
	}
	return Output{ID: id, added: item("in_progress", ""), Raw: json.RawMessage(item("completed", args)), deltas: []string{
		`"type":"response.function_call_arguments.delta","delta":` + quote(args),
		`"type":"response.function_call_arguments.done","arguments":` + quote(args)}}
}

// List is the list of a server's tools; failure is empty where there is one.
func List(id, label, failure string) Output {
	rest := `"tools":[{"name":"roll","description":"rolls","input_schema":{"type":"object"},"annotations":null}],"error":null`
	if failure != "" {
		rest = `"tools":[],"error":` + quote(failure)
	}
	return plain(id, "mcp_list_tools", `"server_label":`+quote(label)+`,`+rest)
}

// Ran is a call that the service made of a server's tool.
func Ran(id, label, tool, output string) Output {
	return plain(id, "mcp_call", `"approval_request_id":null,"arguments":"{}","error":null,"name":`+quote(tool)+`,"output":`+quote(output)+`,"server_label":`+quote(label))
}

// Broken is a call of a server's tool that failed.
func Broken(id, label, tool string) Output {
	return plain(id, "mcp_call", `"approval_request_id":null,"arguments":"{}","error":{"type":"http_error","code":500,"message":"down"},"name":`+quote(tool)+`,"output":null,"server_label":`+quote(label))
}

// Asks is a request for the approval of a call.
func Asks(id, label, tool, args string) Output {
	return plain(id, "mcp_approval_request", `"arguments":`+quote(args)+`,"name":`+quote(tool)+`,"server_label":`+quote(label))
}

// Searched is the model's search for tools, and what it found.
func Searched(id string) []Output {
	return []Output{
		plain("call_"+id, "tool_search_call", `"call_id":null,"execution":"server","status":"completed","arguments":{"paths":["dice"]}`),
		plain("found_"+id, "tool_search_output", `"call_id":null,"execution":"server","status":"completed","tools":[{"type":"mcp","server_label":"dice","error":{"deep":1}}]`),
	}
}

// Other is an item of another type.
func Other(id, kind, rest string) Output { return plain(id, kind, rest) }

func plain(id, kind, rest string) Output {
	raw := `{"id":"` + id + `","type":"` + kind + `",` + rest + `}`
	return Output{ID: id, added: raw, Raw: json.RawMessage(raw)}
}

func quote(s string) string {
	text, _ := json.Marshal(s) // strings always marshal
	return string(text)
}

// suffix makes an id of a text.
func suffix(s string) string { return fmt.Sprintf("%x", s[:min(len(s), 8)]) }
