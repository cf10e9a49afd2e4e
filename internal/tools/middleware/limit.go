package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// attach marks the media of results that are part of the agent's answer.
func attach(wanted bool) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		if !wanted {
			return next
		}
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			res, err := next(ctx, call)
			if res == nil || len(res.Media) == 0 || res.Suspend != nil {
				return res, err
			}
			shown := *res
			shown.Attach = true
			return &shown, err
		}
	}
}

// maxMediaBytes bounds the media of one result together. Models take inline
// data of about 20 MB a request, in base64, and a result stays in the history.
const maxMediaBytes = 8 << 20

// limit bounds a result, first by tokens and then by bytes. Text of more than
// tokens, 0 for any number, keeps its beginning. Text over max bytes keeps its head
// and its tail, a value whose JSON is over max becomes that JSON as text, cut the
// same way, and media over their bound are left out with a note.
func limit(max, tokens int) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			res, err := next(ctx, call)
			if res == nil || res.Suspend != nil {
				return res, err
			}
			bounded, tooBad := boundTokens(res, tokens)
			if tooBad == nil {
				bounded, tooBad = bound(bounded, max)
			}
			if tooBad != nil {
				return nil, tooBad
			}
			return bounded, err
		}
	}
}

// tokenBytes is how many bytes of text are taken for a token: about right for
// English and for JSON, on the safe side for most other text.
const tokenBytes = 4

func tokensOf(text string) int { return (len(text) + tokenBytes - 1) / tokenBytes }

// boundTokens gives res itself where its output has at most so many tokens. JSON is
// counted, and given, without needless space; what is too long keeps the longest
// beginning that fits together with a note, or where that is too long a shorter one,
// which is always there. What was not run is whole: it says why.
func boundTokens(res *agent.Result, tokens int) (*agent.Result, error) {
	if res.NotRun || tokens <= 0 || tokens > math.MaxInt/tokenBytes || fits(res.Output, tokens*tokenBytes) {
		return res, nil
	}
	text, err := outputText(res.Output)
	if err != nil {
		return nil, err
	}
	if _, isText := res.Output.(string); !isText && tokensOf(text) <= tokens {
		return res, nil
	}
	out := *res
	text = minified(text)
	out.Output = text
	if n := tokensOf(text); n > tokens {
		note := fmt.Sprintf("\n[Result truncated: %d → %d tokens]", n, tokens)
		const short = "\n[Result truncated]"
		if len(note) > tokens*tokenBytes {
			note = short
		}
		out.Output = strings.TrimPrefix(headOf(text, tokens*tokenBytes-len(note))+note, "\n")
	}
	return &out, nil
}

// minified gives a JSON object or list without needless space, and any other text
// as it is.
func minified(text string) string {
	start := strings.TrimLeft(text, " \t\r\n")
	if !strings.HasPrefix(start, "{") && !strings.HasPrefix(start, "[") {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// bound gives res itself where it keeps the bounds, and otherwise a copy.
func bound(res *agent.Result, max int) (*agent.Result, error) {
	media, note := boundMedia(res.Media)
	if note == "" && fits(res.Output, max) {
		return res, nil
	}
	text, err := outputText(res.Output)
	if err != nil {
		return nil, err
	}
	if _, isText := res.Output.(string); note == "" && !isText && len(text) <= max {
		return res, nil
	}
	out := *res
	out.Media = media
	if note != "" && text != "" {
		note = "\n" + note
	}
	out.Output = cut(cut(text, max-len(note))+note, max)
	return &out, nil
}

// boundMedia gives the media that fit, in order, and a note on those that do
// not.
func boundMedia(media []*genai.Blob) (kept []*genai.Blob, note string) {
	total, left := 0, 0
	for _, m := range media {
		if total+len(m.Data) > maxMediaBytes {
			left++
			continue
		}
		total += len(m.Data)
		kept = append(kept, m)
	}
	if left == 0 {
		return media, ""
	}
	return kept, fmt.Sprintf("[%d of %d media left out: a result holds at most %d MiB of them]", left, len(media), maxMediaBytes>>20)
}

// fits reports whether output surely fits into max bytes as text or as JSON,
// without writing it. It knows the types that tools mostly give; what it
// cannot tell has to be written.
func fits(output any, max int) bool {
	switch v := output.(type) {
	case nil:
		return true
	case string:
		return len(v) <= max && utf8.ValidString(v)
	}
	return room(output, max) >= 0
}

// room gives what is left of a number of bytes when v has been written as JSON
// in the longest possible way; less than 0 when it may not fit.
func room(v any, left int) int {
	const cannotTell = -1
	switch v := v.(type) {
	case nil, bool:
		return left - len("false")
	case string:
		return left - len(`""`) - len(v)*len(`\u0000`)
	case int, int64:
		return left - len("-9223372036854775808")
	case json.Number:
		return left - len(v)
	case json.RawMessage:
		if !json.Valid(v) {
			return cannotTell
		}
		return left - len(v)
	case []any:
		left -= len("[]")
		for i := 0; i < len(v) && left >= 0; i++ {
			left = room(v[i], left-len(","))
		}
		return left
	case map[string]any:
		left -= len("{}")
		for k, e := range v {
			if left = room(e, room(k, left-len(":,"))); left < 0 {
				break
			}
		}
		return left
	}
	return cannotTell
}

// outputText gives a result's output as text: a string itself, with valid
// UTF-8, nothing for nothing, and of everything else its JSON.
func outputText(output any) (string, error) {
	switch v := output.(type) {
	case nil:
		return "", nil
	case string:
		return strings.ToValidUTF8(v, string(utf8.RuneError)), nil
	}
	return jsonText(output)
}

// jsonText writes v as JSON.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("the tool's result cannot be written as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// cut bounds s to max bytes. It keeps the head, two thirds, and the tail, which
// is where programs say how they ended, and says in between how much is
// missing. s is valid UTF-8 and so is the result.
func cut(s string, max int) string {
	const marker = "\n[... %d of %d bytes left out ...]\n"
	if len(s) <= max {
		return s
	}
	room := max - len(fmt.Sprintf(marker, len(s), len(s)))
	if room <= 0 {
		return headOf(s, max)
	}
	head := headOf(s, room*2/3)
	tail := tailOf(s, room-len(head))
	return head + fmt.Sprintf(marker, len(s)-len(head)-len(tail), len(s)) + tail
}

// headOf gives at most the first n bytes of s, whole characters only.
func headOf(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// tailOf gives at most the last n bytes of s, whole characters only.
func tailOf(s string, n int) string {
	i := max(len(s)-n, 0)
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
