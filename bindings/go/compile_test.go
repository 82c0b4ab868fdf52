// SPDX-License-Identifier: Apache-2.0
// Misuse that the compiler rejects. Each folder of testdata/compile has a package wrong.go, in which the
// compiler must report exactly the errors that its comments name, and right.go, which must compile.

//go:build !race && !dlbridge_static

package dlbridge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// compileModule is a module with the packages wrong/NAME and right/NAME of each folder.
func compileModule(t *testing.T, folders []string) string {
	root := t.TempDir()
	here := must(os.Getwd())(t)
	module := fmt.Sprintf("module example/compile\n\ngo 1.26\n\nrequire dlbridge/bindings/go v0.0.0\n\n"+
		"replace dlbridge/bindings/go => %q\n", here)
	write(t, filepath.Join(root, "go.mod"), []byte(module))
	for _, folder := range folders {
		for _, half := range []string{"wrong", "right"} {
			text := must(os.ReadFile(filepath.Join(folder, half+".go")))(t)
			write(t, filepath.Join(root, half, filepath.Base(folder), half+".go"), text)
		}
	}
	return root
}

func write(t *testing.T, path string, text []byte) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func build(root string, packages ...string) (string, error) {
	command := exec.Command("go", append([]string{"build", "-gcflags=-e"}, packages...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.CombinedOutput()
	return string(output), err
}

// wantedErrors are the messages that the comments of a file name, by line.
func wantedErrors(t *testing.T, path string) map[string][]string {
	wanted := map[string][]string{}
	quoted := regexp.MustCompile(`"([^"]*)"`)
	for i, line := range strings.Split(string(must(os.ReadFile(path))(t)), "\n") {
		_, comment, has := strings.Cut(line, "// want ")
		if !has {
			continue
		}
		for _, message := range quoted.FindAllStringSubmatch(comment, -1) {
			wanted[fmt.Sprint(i+1)] = append(wanted[fmt.Sprint(i+1)], message[1])
		}
	}
	return wanted
}

// checkErrors compares the output of the compiler with the wanted messages.
func checkErrors(t *testing.T, output string, wanted map[string][]string) {
	found := regexp.MustCompile(`(?m)^\S+\.go:(\d+):\d+: (.*)$`).FindAllStringSubmatch(output, -1)
	for _, one := range found {
		line, message := one[1], one[2]
		list := wanted[line]
		place := 0
		for place < len(list) && !strings.Contains(message, list[place]) {
			place++
		}
		if place == len(list) {
			t.Errorf("unexpected: line %s: %s", line, message)
			continue
		}
		wanted[line] = append(list[:place:place], list[place+1:]...)
	}
	for line, list := range wanted {
		for _, message := range list {
			t.Errorf("line %s compiles, or has another error than %q", line, message)
		}
	}
}

func TestMisuseDoesNotCompile(t *testing.T) {
	folders := must(filepath.Glob("testdata/compile/*"))(t)
	if len(folders) < 5 {
		t.Fatal(folders)
	}
	root := compileModule(t, folders)
	if output, err := build(root, "./right/..."); err != nil {
		t.Fatal(output)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			wanted := wantedErrors(t, filepath.Join(folder, "wrong.go"))
			output, err := build(root, "./wrong/"+filepath.Base(folder))
			if err == nil || len(wanted) == 0 {
				t.Fatal("it compiles, or no error is expected")
			}
			checkErrors(t, output, wanted)
		})
	}
}
