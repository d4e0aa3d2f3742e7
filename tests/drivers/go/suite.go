// The checks of go-sql-driver/mysql: the target, the reporting and the test data.
package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

type target struct {
	address, socket, user, password, db, family, ca string
	direct, tls, sha2                               bool
}

func targetOfEnvironment() target {
	t := target{
		address: os.Getenv("WEIR_HOST") + ":" + os.Getenv("WEIR_PORT"), socket: os.Getenv("WEIR_SOCKET"),
		user: os.Getenv("WEIR_USER"), password: os.Getenv("WEIR_PASSWORD"), db: os.Getenv("WEIR_DB"),
		family: os.Getenv("WEIR_FAMILY"), ca: os.Getenv("WEIR_CA"),
	}
	t.direct = os.Getenv("WEIR_VIA") != "weir"
	t.tls = os.Getenv("WEIR_TLS") != "0"
	t.sha2 = t.family == "mysql" || !t.direct
	return t
}

func (t target) processlist() string {
	if t.family == "mysql" {
		return "performance_schema.processlist"
	}
	return "information_schema.processlist"
}

type suite struct{ passed, failed int }

// failure is what `must` and `same` panic with, so that a check reads as a list of steps.
type failure struct{ text string }

func (s *suite) check(name string, body func()) {
	defer func() {
		if caught := recover(); caught != nil {
			text := fmt.Sprint(caught)
			if f, ok := caught.(failure); ok {
				text = f.text
			}
			s.failed++
			fmt.Printf("FAIL %s: %.600s\n", name, strings.Join(strings.Fields(text), " "))
			return
		}
		s.passed++
		fmt.Printf("ok %s\n", name)
	}()
	body()
}

func (s *suite) finish() {
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	if s.failed > 0 || s.passed == 0 {
		os.Exit(1)
	}
}

func must(err error, doing string) {
	if err != nil {
		panic(failure{doing + ": " + err.Error()})
	}
}

func same(got, wanted any, what string) {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		panic(failure{fmt.Sprintf("%s: got %.250q, wanted %.250q", what, fmt.Sprint(got), fmt.Sprint(wanted))})
	}
}

func isError(err error, number uint16, state string) {
	var known *mysql.MySQLError
	if !errors.As(err, &known) {
		panic(failure{fmt.Sprintf("error %d expected, got %v", number, err)})
	}
	same(known.Number, number, "error number of "+known.Message)
	same(string(known.SQLState[:]), state, "SQLSTATE of "+known.Message)
}

func bigText() string {
	var b strings.Builder
	for i := 0; i < 20*1024*1024/8; i++ {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.String()
}

type column struct {
	Name, Type, Kind, Family string
	Values                   []string
}

func columnsOf(family string) []column {
	text, err := os.ReadFile(filepath.Join(os.Getenv("WEIR_DRIVERS"), "types.json"))
	must(err, "reading types.json")
	var all, used []column
	must(json.Unmarshal(text, &all), "types.json")
	for _, c := range all {
		if c.Family == "" || c.Family == family {
			used = append(used, c)
		}
	}
	return used
}

// value is what a Go program would bind for a column.
func value(kind, text string) any {
	switch kind {
	case "int", "year":
		v, err := strconv.ParseInt(text, 10, 64)
		must(err, text)
		return v
	case "uint", "bit":
		v, err := strconv.ParseUint(text, 10, 64)
		must(err, text)
		return v
	case "float":
		v, err := strconv.ParseFloat(text, 64)
		must(err, text)
		return v
	case "bytes":
		v, err := hex.DecodeString(text)
		must(err, text)
		return v
	}
	return text
}

// canonical brings what database/sql scanned into []byte, and what was inserted, into one form.
func canonical(kind string, raw []byte) string {
	switch kind {
	case "float":
		v, err := strconv.ParseFloat(string(raw), 64)
		must(err, string(raw))
		return fmt.Sprint(v)
	case "bit":
		var v uint64
		for _, b := range raw {
			v = v<<8 | uint64(b)
		}
		return fmt.Sprint(v)
	case "bytes":
		return hex.EncodeToString(raw)
	case "time", "datetime":
		whole, fraction, _ := strings.Cut(string(raw), ".")
		return whole + "." + (fraction + "000000")[:6]
	case "json":
		var v any
		must(json.Unmarshal(raw, &v), string(raw))
		text, err := json.Marshal(v)
		must(err, "json")
		return string(text)
	}
	return string(raw)
}

func wantedOf(kind, text string) string {
	switch kind {
	case "bit":
		return text
	case "bytes":
		return text
	}
	return canonical(kind, []byte(text))
}
