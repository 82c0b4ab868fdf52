// SPDX-License-Identifier: Apache-2.0
// README.md shows code that is compiled and run: its program is that of example_test.go.

//go:build !race

package dlbridge_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// block is the first block of README.md in a language.
func block(t *testing.T, language string) string {
	readme := string(must(os.ReadFile("README.md"))(t))
	found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```\n").FindStringSubmatch(readme)
	if found == nil {
		t.Fatalf("README.md has no block in %s", language)
	}
	return found[1]
}

// bodyOf is the statements of a function, and the output that its comment promises.
func bodyOf(text, function string) (statements, output string) {
	_, rest, _ := strings.Cut(text, "\nfunc "+function+"(")
	_, rest, _ = strings.Cut(rest, "\n")
	rest, _, _ = strings.Cut(rest, "\n}\n")
	statements, output, _ = strings.Cut(rest+"\n", "\t// Output:\n")
	return statements, strings.ReplaceAll(output, "\t// ", "")
}

func TestReadmeShowsTheExample(t *testing.T) {
	shown := block(t, "go")
	example := string(must(os.ReadFile("example_test.go"))(t))
	for name, tested := range map[string]string{"accept": "accept", "main": "Example", "plugin": "plugin"} {
		here, _ := bodyOf(shown, name)
		if there, _ := bodyOf(example, tested); here == "\n" || here != there {
			t.Errorf("%s in README.md and %s in example_test.go differ:\n%s\n%s", name, tested, here, there)
		}
	}
	if _, output := bodyOf(example, "Example"); output != block(t, "text") {
		t.Errorf("README.md shows another output than %q", output)
	}
	if accept, _ := bodyOf(shown, "accept"); strings.Count(accept, "\n") > 8 {
		t.Error("the first example has more than 8 lines")
	}
}
