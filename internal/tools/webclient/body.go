package webclient

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Kind says what a body is good for.
type Kind int

// The kinds of bodies.
const (
	Empty  Kind = iota // nothing came
	Text               // readable: in Response.Text
	Media              // an image or a sound that models take: in Response.Body
	Binary             // anything else: in Response.Body, to be named, not shown
)

// Response is an answer, read as far as the bound allows.
type Response struct {
	Status int // 200
	Header http.Header
	// URL is where the answer came from, after redirects.
	URL  *url.URL
	Kind Kind
	// MIME is the media type without parameters, from Content-Type, or from
	// the bytes where the server said nothing useful.
	MIME string
	// Text is the body in UTF-8; set for [Text].
	Text string
	// Body is the body as it came, decompressed; set for [Media] and [Binary].
	Body []byte
	// Size is the length of the body in bytes: what the server announced,
	// otherwise what was read.
	Size int64
	// Truncated is set when the body was longer than what was read.
	Truncated bool
	// CredentialsDropped is set when redirects led to another origin and
	// headers of the request were not sent there.
	CredentialsDropped bool
}

// StatusLine is the status with its usual name, such as "404 Not Found".
func (r *Response) StatusLine() string {
	return strings.TrimSpace(strconv.Itoa(r.Status) + " " + http.StatusText(r.Status))
}

func (c *Client) read(res *http.Response, h *hop) (*Response, error) {
	most := cmp.Or(h.origin.MaxBody, c.maxBody)
	data, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return nil, err
	}
	// The transport undoes the gzip that it asked for, once, and then removes
	// the header; what is left was not asked for.
	if enc := res.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") && len(data) > 0 {
		return nil, refuse("the answer is encoded as %q, which was not asked for", shorten(enc))
	}
	r := &Response{
		Status: res.StatusCode, Header: res.Header, URL: h.url,
		CredentialsDropped: h.dropped,
	}
	if int64(len(data)) > most {
		data, r.Truncated = data[:most], true
	}
	r.Size = max(res.ContentLength, int64(len(data)))
	r.classify(data)
	return r, nil
}

func (r *Response) classify(data []byte) {
	mediaType, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	r.MIME = mediaType
	if len(data) == 0 {
		return
	}
	label := charsetName(params["charset"])
	sniffed, _, _ := mime.ParseMediaType(http.DetectContentType(data))
	if mediaType == "" || strings.HasSuffix(mediaType, "/octet-stream") {
		r.MIME = sniffed
		if _, wide := guessUTF16(data); wide {
			r.MIME = "text/plain"
		}
	}
	switch {
	case mediaTypes[r.MIME]:
		r.Kind, r.Body = Media, data
	case textual(r.MIME) && readable(data, label, sniffed):
		if r.Text = toUTF8(data, label, r.Truncated); r.Text != "" { // more than a byte order mark
			r.Kind = Text
		}
	default:
		r.Kind, r.Body = Binary, data
	}
}

// mediaTypes are the images and sounds that models and hosts take.
var mediaTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/heic": true, "image/heif": true,
	"audio/wav": true, "audio/wave": true, "audio/x-wav": true, "audio/mpeg": true, "audio/mp3": true, "audio/mp4": true,
	"audio/aac": true, "audio/ogg": true, "audio/flac": true, "audio/aiff": true, "audio/webm": true,
}

var textTypes = map[string]bool{
	"application/json": true, "application/xml": true, "application/javascript": true, "application/yaml": true,
	"application/x-yaml": true, "application/toml": true, "application/sql": true, "application/graphql": true,
	"application/x-ndjson": true, "application/jsonl": true, "application/x-www-form-urlencoded": true,
	"application/x-sh": true,
}

func textual(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || textTypes[mediaType] ||
		strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+yaml")
}

// readable reports whether bytes that are called text can be text, so that a
// second layer of gzip, say, is not shown as garbage.
func readable(data []byte, label, sniffed string) bool {
	if label != "" || hasBOM(data) {
		return true
	}
	if _, wide := guessUTF16(data); wide {
		return true
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	return strings.HasPrefix(sniffed, "text/") || sniffed == "application/octet-stream"
}
