// Package mediatype knows the MIME types of what agents send, save and serve.
//
// Start with [Of].
package mediatype

import (
	"net/http"
	"path/filepath"
	"strings"
)

// OfName goes by a file's ending, whatever its case; empty for one that is not known. The table is
// our own, since that of the system differs from machine to machine.
func OfName(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".txt", ".log":
		return "text/plain"
	case ".md", ".markdown":
		return "text/markdown"
	case ".csv":
		return "text/csv"
	case ".html", ".htm":
		return "text/html"
	case ".css":
		return "text/css"
	case ".js", ".mjs":
		return "text/javascript"
	case ".json":
		return "application/json"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".xml":
		return "application/xml"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".wav":
		return "audio/wav"
	case ".mp3":
		return "audio/mpeg"
	case ".ogg", ".oga", ".opus":
		return "audio/ogg"
	case ".flac":
		return "audio/flac"
	case ".mp4":
		return "video/mp4"
	case ".webm":
		return "video/webm"
	case ".pdf":
		return "application/pdf"
	case ".zip":
		return "application/zip"
	}
	return ""
}

// Of goes by a file's ending, or else by how its data begins.
func Of(name string, data []byte) string {
	if kind := OfName(name); kind != "" {
		return kind
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if kind == "audio/wave" { // a third name for it, which hosts do not know
		return "audio/wav"
	}
	return kind
}

// IsText reports whether what has this MIME type is text. Whether it can be sent
// as such is up to its bytes.
func IsText(mimeType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(mimeType), ";")
	kind = strings.TrimSpace(kind)
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/sql",
		"application/javascript", "application/x-javascript", "application/ecmascript", "application/typescript",
		"application/graphql", "application/x-sh", "application/x-ndjson", "application/jsonl", "application/x-www-form-urlencoded":
		return true
	}
	return false
}
