// SPDX-License-Identifier: Apache-2.0
// Every public name is documented.

//go:build !race

package dlbridge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

func TestEverythingIsDocumented(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			for name, documented := range exported(declaration) {
				seen++
				if !documented {
					t.Errorf("%s: %s has no comment", path, name)
				}
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d public names were found", seen)
	}
}

// exported maps each public name of a declaration to whether it is documented.
func exported(declaration ast.Decl) map[string]bool {
	names := map[string]bool{}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			names[d.Name.Name] = d.Doc != nil
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names[s.Name.Name] = d.Doc != nil || s.Doc != nil
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						names[name.Name] = d.Doc != nil || s.Doc != nil || s.Comment != nil
					}
				}
			}
		}
	}
	return names
}
