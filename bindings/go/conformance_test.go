// SPDX-License-Identifier: Apache-2.0
// Runs the corpus, tests/conformance/cases.json, with the functions of this package.

package dlbridge_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
)

const corpusPath = "../../tests/conformance/cases.json"

// object is a JSON object; numbers are json.Number.
type object = map[string]any

type testCase struct {
	Name    string            `json:"name"`
	ABI     bool              `json:"abi"`
	Objects map[string]object `json:"objects"`
	Steps   []object          `json:"steps"`
}

type outcome struct {
	Name  string   `json:"name"`
	Ran   bool     `json:"ran"`
	Steps []object `json:"steps"`
}

func readCorpus(t testing.TB) []testCase {
	text, err := os.ReadFile(corpusPath)
	if err != nil {
		t.Fatal(err)
	}
	var corpus struct {
		Schema int
		Cases  []testCase
	}
	decode(t, text, &corpus)
	if corpus.Schema != 2 || len(corpus.Cases) < 500 {
		t.Fatalf("schema %d, %d cases", corpus.Schema, len(corpus.Cases))
	}
	return corpus.Cases
}

func decode(t testing.TB, text []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// plain is a value after a round trip through JSON, so that it can be compared.
func plain(t testing.TB, value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	decode(t, text, &out)
	return out
}

// answered is the answer of a step, with the keys that it expects.
func answered(t testing.TB, step, answer object) object {
	kept := object{}
	for key := range step["expect"].(object) {
		kept[key] = plain(t, answer[key])
	}
	return kept
}

// differences lists where an answer differs from what was expected.
func differences(expect, answer object) string {
	var text string
	keys := make([]string, 0, len(expect))
	for key := range expect {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if !reflect.DeepEqual(expect[key], answer[key]) {
			text += fmt.Sprintf("  %s: expected %v\n  %s: found    %v\n", key, expect[key], key, answer[key])
		}
	}
	return text
}

// runCase runs one case and returns its outcome and the failures, or "".
func runCase(t testing.TB, test testCase) (outcome, string) {
	return runCaseBy(t, test, (*world).call)
}

// runCaseBy is runCase with another function that makes the steps.
func runCaseBy(t testing.TB, test testCase, call func(*world, object) object) (outcome, string) {
	w := newWorld(t, test.Objects)
	result := outcome{test.Name, true, []object{}}
	var failures string
	for i, step := range test.Steps {
		answer := answered(t, step, call(w, step))
		result.Steps = append(result.Steps, answer)
		if differs := differences(step["expect"].(object), answer); differs != "" {
			failures += fmt.Sprintf(" step %d (%s)\n%s", i, step["call"], differs)
		}
	}
	return result, failures + w.finish()
}

func TestConformance(t *testing.T) {
	var outcomes []outcome
	ran, skipped := 0, 0
	for _, test := range readCorpus(t) {
		if test.ABI {
			skipped++
			outcomes = append(outcomes, outcome{test.Name, false, []object{}})
			continue
		}
		ran++
		result, failures := runCase(t, test)
		outcomes = append(outcomes, result)
		if failures != "" {
			t.Errorf("%s\n%s", test.Name, failures)
		}
	}
	t.Logf("%d cases ran, %d were skipped: they need damaged arguments", ran, skipped)
	if path := os.Getenv("DLBRIDGE_OUTCOMES"); path != "" {
		writeOutcomes(t, path, outcomes)
	}
}

func writeOutcomes(t *testing.T, path string, outcomes []outcome) {
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	buffer := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	for _, one := range outcomes {
		if err := encoder.Encode(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := buffer.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// The runner reports wrong expectations.
func TestConformanceSeesWrongExpectations(t *testing.T) {
	for _, test := range readCorpus(t) {
		if test.ABI {
			continue
		}
		expect := test.Steps[len(test.Steps)-1]["expect"].(object)
		if expect["status"] == "OK" {
			expect["status"] = "ERROR_PARSE"
		} else {
			expect["status"] = "OK"
		}
		if _, failures := runCase(t, test); failures == "" {
			t.Fatal(test.Name)
		}
	}
}
