// SPDX-License-Identifier: Apache-2.0

// Gomodule packs a module as module proxies serve it, by the rules of golang.org/x/mod/zip.
//
//	gomodule -folder FOLDER -hosted PATH -version VERSION -licence FILE -proxy FOLDER
//
// A module whose path names no host is packed under the path PATH, which replaces its own in go.mod and
// in imports.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	folder := flag.String("folder", "", "the module's folder")
	hosted := flag.String("hosted", "", "the path under which it is hosted")
	version := flag.String("version", "", "such as v0.4.0")
	licence := flag.String("licence", "", "the licence of the repository, which the module gets, too")
	proxy := flag.String("proxy", "", "the root of the proxy's files")
	flag.Parse()
	name, err := pack(*folder, *licence, *proxy, module.Version{Path: *hosted, Version: *version})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(name)
}

// pack writes the files of the version to the proxy; it returns the name of the archive.
func pack(folder, licence, proxy string, hosted module.Version) (string, error) {
	scratch, err := os.MkdirTemp("", "gomodule")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := os.CopyFS(scratch, os.DirFS(folder)); err != nil {
		return "", err
	}
	text, err := os.ReadFile(licence)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(scratch, "LICENSE"), text, 0o644); err != nil {
		return "", err
	}
	gomod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return "", err
	}
	if own := modfile.ModulePath(gomod); own != hosted.Path {
		if err := rename(scratch, own, hosted.Path); err != nil {
			return "", err
		}
	}
	return write(scratch, proxy, hosted)
}

// rename replaces the module's path in go.mod and in imports.
func rename(folder, own, hosted string) error {
	return filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		var old, replacement string
		switch {
		case filepath.Ext(path) == ".go":
			old, replacement = `"`+own, `"`+hosted
		case entry.Name() == "go.mod":
			old, replacement = "module "+own, "module "+hosted
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(text, []byte(old), []byte(replacement)), 0o644)
	})
}

// write makes the files that a proxy serves for the version, and checks the archive.
func write(folder, proxy string, hosted module.Version) (string, error) {
	escaped, err := module.EscapePath(hosted.Path)
	if err != nil {
		return "", err
	}
	place := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(place, 0o755); err != nil {
		return "", err
	}
	name := filepath.Join(place, hosted.Version+".zip")
	file, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := zip.CreateFromDir(file, hosted, folder); err != nil {
		return "", err
	}
	checked, err := zip.CheckZip(hosted, name)
	if err != nil {
		return "", err
	}
	if err := checked.Err(); err != nil {
		return "", err
	}
	gomod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return "", err
	}
	for end, text := range map[string]string{
		hosted.Version + ".mod":  string(gomod),
		hosted.Version + ".info": fmt.Sprintf("{\"Version\":%q}\n", hosted.Version),
		"list":                   strings.TrimSpace(hosted.Version) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(place, end), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return name, nil
}
