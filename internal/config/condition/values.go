package condition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/vm"
)

// fault is an error in our own words.
type fault struct{ text string }

func (f *fault) Error() string { return f.text }

// plainValue gives a copy of a JSON value in the types that the language computes
// with: nil, bool, string, int, float64, lists and maps; nothing that has methods.
// size grows by about its bytes.
func plainValue(v any, size *int) (any, error) {
	*size += 8
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		*size += len(v)
		return v, nil
	case json.Number:
		return number(string(v))
	case int:
		return number(strconv.Itoa(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &fault{"a value is not a number"}
		}
		if math.Abs(v) < maxExact {
			return v, nil
		}
		return exact(new(big.Rat).SetFloat64(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = plainValue(v[i], size); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			plain, err := plainValue(e, size)
			if err != nil {
				return nil, err
			}
			*size += len(key)
			out[key] = plain
		}
		return out, nil
	}
	return fromJSON(v, size)
}

// fromJSON takes any other type as what its JSON is.
func fromJSON(v any, size *int) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, &fault{"a value cannot be written as JSON"}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, &fault{"a value cannot be written as JSON"}
	}
	return plainValue(out, size)
}

// maxDigits is how many digits of a number count: float64 tells apart what people
// and programs write with as many, and rounds longer ones.
const maxDigits = 17

// number gives a JSON number as int, or else as float64. A longer one than either
// can hold is an error, and so is the least int, which has no opposite.
func number(text string) (any, error) {
	if i, err := strconv.Atoi(text); err == nil && i > math.MinInt {
		return i, nil
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.NewReplacer("-", "", ".", "").Replace(mantissa)
	if digits = strings.TrimLeft(digits, "0"); strings.Contains(mantissa, ".") || len(digits) > maxDigits {
		digits = strings.TrimRight(digits, "0")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(digits) > maxDigits {
		return nil, &fault{"a number has more digits than can be compared"}
	}
	if f == 0 && digits != "" {
		return nil, &fault{"a number is too small to be compared"}
	}
	if math.Abs(f) < maxExact {
		return f, nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, &fault{"a value is not a number"}
	}
	return exact(r)
}

// maxExact is from where on float64 no longer tells all integers apart.
const maxExact = 1 << 53

// exact gives a number of at least maxExact as int where it is one, for a comparison
// of int and float64 would round, or else as float64. One that neither can hold is an
// error.
func exact(r *big.Rat) (any, error) {
	if r.IsInt() && r.Num().IsInt64() {
		if i := r.Num().Int64(); i > math.MinInt && i <= math.MaxInt {
			return int(i), nil
		}
	}
	f, same := r.Float64()
	if !same {
		return nil, &fault{"a number has more digits than can be compared"}
	}
	return f, nil
}

const tickName = "#tick"

// budget is what is left of the work of one evaluation, and what one item costs.
type budget struct{ left, item int }

// tick counts an item of a loop.
func tick(params ...any) (any, error) {
	b, ok := params[0].(*budget)
	if !ok {
		return nil, &fault{"it has no budget"}
	}
	if b.left -= b.item; b.left < 0 {
		return nil, &fault{"it takes too long for these values"}
	}
	return nil, nil
}

// arithmetic are the operators that could wrap around or give what is no number;
// a comparison with that would be false unseen.
func arithmetic() map[string]vm.Function {
	return map[string]vm.Function{
		"+":  plus,
		"-":  operator("-", subtract, func(a, b float64) float64 { return a - b }),
		"*":  operator("*", multiply, func(a, b float64) float64 { return a * b }),
		"/":  operator("/", nil, func(a, b float64) float64 { return a / b }),
		"**": operator("**", nil, math.Pow),
		"^":  operator("^", nil, math.Pow),
	}
}

// plus also joins texts.
func plus(params ...any) (any, error) {
	a, isText := params[0].(string)
	b, both := params[1].(string)
	if isText && both {
		return a + b, nil
	}
	return operator("+", add, func(a, b float64) float64 { return a + b })(params...)
}

// operator computes with ints where it is given such a function and gets ints, and
// otherwise with float64.
func operator(sign string, ints func(a, b int) (int, bool), floats func(a, b float64) float64) vm.Function {
	return func(params ...any) (any, error) {
		a, isInt := params[0].(int)
		b, both := params[1].(int)
		if isInt && both && ints != nil {
			if n, ok := ints(a, b); ok && n > math.MinInt {
				return n, nil
			}
			return nil, &fault{fmt.Sprintf("the result of %s is too large a number", sign)}
		}
		x, ok := float(params[0])
		y, also := float(params[1])
		if !ok || !also {
			return nil, &fault{fmt.Sprintf("%s has something else than numbers beside it", sign)}
		}
		f := floats(x, y)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &fault{fmt.Sprintf("the result of %s is no number", sign)}
		}
		return f, nil
	}
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func add(a, b int) (int, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func subtract(a, b int) (int, bool) {
	difference := a - b
	return difference, (difference < a) == (b > 0)
}

func multiply(a, b int) (int, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	product := a * b
	return product, product/b == a
}
