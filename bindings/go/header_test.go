// SPDX-License-Identifier: Apache-2.0
// Each constant of the C headers has a name and the same value in Go; a new constant of a header without
// a name fails.

//go:build !race

package dlbridge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"
)

// goConstants are the constants of this package by their names in lower case.
func goConstants(t *testing.T) map[string]string {
	constants := map[string]string{}
	for _, path := range []string{"constants.go", "stream.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, is := node.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 {
				return true
			}
			if value, is := evaluate(types.ExprString(spec.Values[0])); is {
				constants[strings.ToLower(spec.Names[0].Name)] = value
			}
			return true
		})
	}
	return constants
}

// evaluate is the value of a constant expression of Go, as most expressions of C are.
func evaluate(expression string) (string, bool) {
	expression = strings.NewReplacer("math.MinInt64", "-9223372036854775808", "INT64_MIN",
		"-9223372036854775808", "UL", "", "U", "").Replace(expression)
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err != nil || value.Value == nil {
		return "", false
	}
	return value.Value.ExactString(), true
}

// headerConstants are the constants of a header by the names that Go should have, in lower case.
func headerConstants(t *testing.T, path string) map[string]string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comments := regexp.MustCompile(`(?s)/\*.*?\*/`)
	plain := strings.ReplaceAll(comments.ReplaceAllString(string(text), ""), "\\\n", "")
	constants := map[string]string{}
	enumerator := regexp.MustCompile(`\b((?:DLBRIDGE_|kDL)\w+)\s*=\s*([^,}\n]+)`)
	define := regexp.MustCompile(`(?m)^#define\s+(DL\w+)[ \t]+(\S.*)$`)
	found := append(enumerator.FindAllStringSubmatch(plain, -1), define.FindAllStringSubmatch(plain, -1)...)
	for _, one := range found {
		value, is := evaluate(strings.TrimSpace(one[2]))
		if is {
			constants[goName(one[1])] = value
		} else if !noConstant.MatchString(one[1]) {
			t.Errorf("%s: cannot read %s, which is %s", path, one[1], one[2])
		}
	}
	return constants
}

// notForGo matches constants of the preprocessor, and the version, which functions return.
var notForGo = regexp.MustCompile(`^(dlbridge(abi|version.*)|dlpack(major|minor)version)$`)

// noConstant matches macros that are not constants: linkage and initialisers.
var noConstant = regexp.MustCompile(`^(DLBRIDGE_API|DLBRIDGE_NO_DEVICE|DLPACK_DLL|DLPACK_EXTERN_C|\w+_INIT|DLBRIDGE_OFFICIAL_DLPACK_)$`)

// goName is the Go name of a C constant, in lower case.
func goName(name string) string {
	if rest, is := strings.CutPrefix(name, "kDL"); is {
		if codes.MatchString(rest) {
			return "code" + strings.ToLower(strings.ReplaceAll(rest, "_", ""))
		}
		return "device" + strings.ToLower(rest)
	}
	if rest, is := strings.CutPrefix(name, "DLPACK_FLAG_BITMASK_"); is {
		return "flag" + strings.ToLower(strings.ReplaceAll(rest, "_", ""))
	}
	rest, is := strings.CutPrefix(name, "DLBRIDGE_")
	if !is {
		return strings.ToLower(strings.ReplaceAll(name, "_", ""))
	}
	switch rest {
	case "OK":
		return "statusok"
	case "NO", "YES", "UNDECIDED":
		return "answer" + strings.ToLower(rest)
	case "ABI", "VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH", "VERSION_STRING":
		rest = name
	case "ARRAY_API_STREAM_NONE":
		return "arrayapistreamnone"
	}
	rest = strings.Replace(rest, "ERROR_", "STATUS_", 1)
	return strings.ToLower(strings.ReplaceAll(rest, "_", ""))
}

var codes = regexp.MustCompile(`^(Int|UInt|Float|OpaqueHandle|Bfloat|Complex|Bool|Bcomplex)`)

func TestConstantsOfTheHeaders(t *testing.T) {
	here := goConstants(t)
	for path, least := range map[string]int{
		"../../include/dlbridge/dlbridge.h": 140,
		"../../include/dlbridge/dlpack.h":   40,
	} {
		wanted := headerConstants(t, path)
		if len(wanted) < least {
			t.Errorf("%s: only %d constants were found", path, len(wanted))
		}
		for name, value := range wanted {
			if notForGo.MatchString(name) {
				continue
			}
			if here[name] != value {
				t.Errorf("%s: %s is %s, in Go it is %q", path, name, value, here[name])
			}
		}
	}
}
