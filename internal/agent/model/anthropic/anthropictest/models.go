package anthropictest

// abilities are what a model takes (the service's pages on thinking, effort,
// structured outputs and its migration guides).
type abilities struct {
	budget   bool // thinking of type enabled
	adaptive bool // thinking of type adaptive, and effort
	off      string
	sampling int // 2: temperature and top_p, 1: one of them, 0: none
	schema   bool
	binds    bool // thoughts to all that stands before them
	most     int  // tokens of an answer
}

// models are those that the fake has.
var models = map[string]abilities{
	"claude-3-haiku-20240307":    {off: "disabled", sampling: 2, most: 4096},
	"claude-3-7-sonnet-20250219": {budget: true, off: "disabled", sampling: 2, most: 64000},
	"claude-sonnet-4-20250514":   {budget: true, off: "disabled", sampling: 2, most: 64000},
	"claude-opus-4-1-20250805":   {budget: true, off: "disabled", sampling: 1, most: 32000},
	"claude-haiku-4-5":           {budget: true, off: "disabled", sampling: 1, schema: true, most: 64000},
	"claude-sonnet-4-5-20250929": {budget: true, off: "disabled", sampling: 1, schema: true, most: 64000},
	"claude-opus-4-5":            {budget: true, off: "disabled", sampling: 1, schema: true, most: 64000},
	"claude-sonnet-4-6":          {budget: true, adaptive: true, off: "disabled", sampling: 1, schema: true, most: 128000},
	"claude-opus-4-6":            {budget: true, adaptive: true, off: "disabled", sampling: 1, schema: true, most: 128000},
	"claude-opus-4-8":            {adaptive: true, off: "disabled", schema: true, most: 128000},
	"claude-sonnet-5":            {adaptive: true, off: "disabled", schema: true, most: 128000},
	"claude-opus-5":              {adaptive: true, off: "disabled", schema: true, most: 128000},
	"claude-haiku-5-5":           {adaptive: true, off: "disabled", schema: true, binds: true, most: 128000},
	"claude-sonnet-5-5":          {adaptive: true, off: "between_tools", schema: true, binds: true, most: 128000},
	"claude-opus-5-5":            {adaptive: true, schema: true, binds: true, most: 128000},
	"claude-fable-5-2":           {adaptive: true, schema: true, binds: true, most: 128000},
	"claude-fable-5-1":           {adaptive: true, schema: true, binds: true, most: 128000},
}

type unknownModel struct{ name string }

func (u *unknownModel) Error() string { return "model: " + u.name }
