package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func types(change func(*mysql.Config)) {
	db := open(change)
	defer db.Close()
	columns := columnsOf(t.family)
	names, definitions, marks := []string{"id"}, []string{"id INT PRIMARY KEY"}, []string{"?"}
	for _, c := range columns {
		names = append(names, c.Name)
		definitions = append(definitions, c.Name+" "+c.Type+" NULL")
		marks = append(marks, "?")
	}
	exec(db, "DROP TABLE IF EXISTS types")
	exec(db, "CREATE TABLE types ("+strings.Join(definitions, ", ")+") CHARACTER SET utf8mb4")
	insert := "INSERT INTO types (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	for row := range 3 {
		arguments := []any{row + 1}
		for _, c := range columns {
			if row == 2 {
				arguments = append(arguments, nil)
			} else {
				arguments = append(arguments, value(c.Kind, c.Values[row]))
			}
		}
		same(exec(db, insert, arguments...), 1, "affected rows")
	}
	// The argument makes it a prepared statement unless the driver interpolates.
	rows, err := db.Query("SELECT "+strings.Join(names, ", ")+" FROM types WHERE id > ? ORDER BY id", 0)
	must(err, "select")
	defer rows.Close()
	compareTypes(rows, columns)
}

func compareTypes(rows *sql.Rows, columns []column) {
	count := 0
	for ; rows.Next(); count++ {
		raw := make([]sql.RawBytes, len(columns)+1)
		into := make([]any, len(raw))
		for i := range raw {
			into[i] = &raw[i]
		}
		must(rows.Scan(into...), "scan")
		same(string(raw[0]), count+1, "id")
		for i, c := range columns {
			what := fmt.Sprintf("row %d %s", count+1, c.Name)
			if count == 2 {
				same(raw[i+1] == nil, true, what+" is NULL")
				continue
			}
			same(raw[i+1] != nil, true, what+" is not NULL")
			same(canonical(c.Kind, raw[i+1]), wantedOf(c.Kind, c.Values[count]), what)
		}
	}
	must(rows.Err(), "rows")
	same(count, 3, "rows")
}

func bigValue(change func(*mysql.Config)) {
	db := open(change)
	defer db.Close()
	text := bigText()
	exec(db, "DROP TABLE IF EXISTS big")
	exec(db, "CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4")
	exec(db, "INSERT INTO big VALUES (?, ?)", 1, text)
	same(one(db, "SELECT LENGTH(v) FROM big"), len(text), "length at the server")
	var got string
	must(db.QueryRow("SELECT v FROM big WHERE id = ?", 1).Scan(&got), "select")
	same(got == text, true, fmt.Sprintf("the value that came back (%d bytes)", len(got)))
}

const loadedLines = 20000

func loadText() string {
	var b strings.Builder
	for i := 1; i <= loadedLines; i++ {
		fmt.Fprintf(&b, "%d\tgröße 漢字 🐬 %d\n", i, i)
	}
	return b.String()
}

func load(db *sql.DB, name string) {
	exec(db, "DROP TABLE IF EXISTS loaded")
	exec(db, "CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4")
	same(exec(db, "LOAD DATA LOCAL INFILE '"+name+"' INTO TABLE loaded CHARACTER SET utf8mb4"), loadedLines, "affected rows")
	same(one(db, "SELECT SUM(id) FROM loaded"), loadedLines*(loadedLines+1)/2, "sum")
	same(one(db, "SELECT COUNT(*) FROM loaded WHERE name = CONCAT('größe 漢字 🐬 ', id)"), loadedLines, "texts")
}

func loadDataLocal(change func(*mysql.Config)) {
	db := open(change)
	defer db.Close()
	db.SetMaxOpenConns(1)
	file, err := os.CreateTemp("", "load-*.tsv")
	must(err, "temporary file")
	defer os.Remove(file.Name())
	_, err = file.WriteString(loadText())
	must(err, "temporary file")
	must(file.Close(), "temporary file")
	mysql.RegisterLocalFile(file.Name())
	load(db, file.Name())
}

func loadDataReader() {
	db := open(nil)
	defer db.Close()
	mysql.RegisterReaderHandler("lines", func() io.Reader { return strings.NewReader(loadText()) })
	load(db, "Reader::lines")
}

// readSets reads all result sets as text; those without columns are left out.
func readSets(rows *sql.Rows) [][]string {
	var sets [][]string
	for {
		names, err := rows.Columns()
		must(err, "columns")
		if len(names) > 0 {
			set := []string{}
			for rows.Next() {
				values := make([]sql.NullString, len(names))
				into := make([]any, len(names))
				for i := range values {
					into[i] = &values[i]
				}
				must(rows.Scan(into...), "scan")
				line := []string{}
				for _, v := range values {
					line = append(line, v.String)
				}
				set = append(set, strings.Join(line, "|"))
			}
			sets = append(sets, set)
		}
		if !rows.NextResultSet() {
			return sets
		}
	}
}

func procedureResults() {
	exec(session, "DROP PROCEDURE IF EXISTS several")
	exec(session, `CREATE PROCEDURE several(IN how_many INT)
BEGIN
  SELECT id, name FROM items WHERE id <= how_many ORDER BY id;
  UPDATE items SET name = name WHERE id = 1;
  SELECT 'größe 🐬' AS word, how_many AS n;
END`)
	for _, prepared := range []bool{false, true} {
		var rows *sql.Rows
		var err error
		if prepared {
			rows, err = session.Query("CALL several(?)", 2)
		} else {
			rows, err = session.Query("CALL several(2)")
		}
		must(err, "call")
		sets := readSets(rows)
		must(rows.Err(), "results")
		same(sets, [][]string{{"1|" + item(1), "2|" + item(2)}, {"größe 🐬|2"}}, "result sets")
	}
}

func multiStatements() {
	db := open(func(c *mysql.Config) { c.MultiStatements = true })
	defer db.Close()
	rows, err := db.Query("SELECT 1; SELECT 'größe 🐬'; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id")
	must(err, "query")
	same(readSets(rows), [][]string{{"1"}, {"größe 🐬"}, {"1", "2"}}, "result sets")
	must(rows.Err(), "results")
	rows, err = db.Query("SELECT 1; SELECT * FROM no_such_table; SELECT 2")
	must(err, "first statement")
	readSets(rows)
	isError(rows.Err(), 1146, "42S02")
	rows.Close()
}

func transaction() {
	other := open(nil)
	defer other.Close()
	count := "SELECT COUNT(*) FROM items WHERE id = 100"
	for wanted := range 2 {
		tx, err := session.Begin()
		must(err, "begin")
		_, err = tx.Exec("INSERT INTO items VALUES (?, 'in a transaction')", 100)
		must(err, "insert")
		same(one(other, count), 0, "view of another session before the end")
		if wanted == 0 {
			must(tx.Rollback(), "rollback")
		} else {
			must(tx.Commit(), "commit")
		}
		same(one(other, count), wanted, "view of another session after the end")
	}
	exec(session, "DELETE FROM items WHERE id = 100")
	readOnly, err := session.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	must(err, "begin read only")
	_, err = readOnly.Exec("INSERT INTO items VALUES (101, 'x')")
	isError(err, 1792, "25006")
	must(readOnly.Rollback(), "rollback")
}

// cancelKill: database/sql shows no thread id, the server's own word is used.
func cancelKill() {
	victim, err := open(nil).Conn(ctx)
	must(err, "connect")
	defer victim.Close()
	var id int64
	must(victim.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id), "thread id")
	query := "SELECT 1 AS cancel_me FROM " + t.db + ".items"
	outcome := make(chan error, 1)
	go func() {
		var v int
		outcome <- victim.QueryRowContext(ctx, query+" WHERE id < 3 AND SLEEP(60)").Scan(&v)
	}()
	other := open(nil)
	defer other.Close()
	running := "SELECT COUNT(*) FROM " + t.processlist() + " WHERE INFO LIKE '" + query + "%'"
	for deadline := time.Now().Add(40 * time.Second); one(other, running) == "0"; time.Sleep(10 * time.Millisecond) {
		same(time.Now().Before(deadline), true, "the query shows up in the process list")
	}
	// Again until the query has ended: README.md says why.
	limit := time.After(50 * time.Second)
	for ended := false; !ended; {
		exec(other, fmt.Sprintf("KILL QUERY %d", id))
		select {
		case err = <-outcome:
			isError(err, 1317, "70100")
			ended = true
		case <-time.After(time.Second):
		case <-limit:
			panic(failure{"not cancelled within 50 s"})
		}
	}
	var alive string
	must(victim.QueryRowContext(ctx, "SELECT 'alive'").Scan(&alive), "the cancelled connection")
}

func errorNumbers() {
	cases := []struct {
		statement string
		number    uint16
		state     string
	}{
		{"INSERT INTO items VALUES (1, 'again')", 1062, "23000"},
		{"SELEC 1", 1064, "42000"},
		{"SELECT * FROM no_such_table", 1146, "42S02"},
		{"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'", 1644, "45000"},
	}
	for _, c := range cases {
		_, err := session.Exec(c.statement)
		isError(err, c.number, c.state)
	}
	_, err := session.Prepare("SELECT * FROM no_such_table WHERE id = ?")
	isError(err, 1146, "42S02")
	_, err = session.Exec("INSERT INTO items VALUES (?, ?)", 1, "again")
	isError(err, 1062, "23000")
	same(one(session, "SELECT 'after'"), "after", "the connection after errors")
}

// preparedMany keeps many statements open at once and uses them in turn.
func preparedMany() {
	var open []*sql.Stmt
	for i := range 100 {
		s, err := session.Prepare(fmt.Sprintf("SELECT ? + %d, name FROM items WHERE id = ?", i))
		must(err, "prepare")
		open = append(open, s)
	}
	for round := range 3 {
		for i, s := range open {
			var sum int
			var name string
			must(s.QueryRow(round, i%10+1).Scan(&sum, &name), "execute")
			same(fmt.Sprint(sum, name), fmt.Sprint(round+i, item(i%10+1)), "row")
		}
	}
	for _, s := range open {
		must(s.Close(), "close")
	}
}

func stream() {
	rows, err := session.Query("SELECT a.id, a.name FROM items a, items b, items c, items d, items e LIMIT ?", 100000)
	must(err, "query")
	count, length := 0, 0
	for rows.Next() {
		var id int
		var name string
		must(rows.Scan(&id, &name), "scan")
		count++
		length += len(name)
	}
	must(rows.Err(), "rows")
	same(count, 100000, "rows")
	// Leaving a result half read makes the driver read the rest before the connection is used again.
	rows, err = session.Query("SELECT a.id FROM items a, items b, items c, items d")
	must(err, "query")
	same(rows.Next(), true, "a first row")
	must(rows.Close(), "close")
	same(one(session, "SELECT 'after'"), "after", "the connection afterwards")
}

// resetSession: a pooled connection is checked for being alive before it is reused; one killed meanwhile is replaced.
func resetSession() {
	db := open(nil)
	defer db.Close()
	db.SetMaxOpenConns(1)
	id := one(db, "SELECT CONNECTION_ID()")
	exec(session, "KILL "+id)
	deadline := time.Now().Add(40 * time.Second)
	for one(session, "SELECT COUNT(*) FROM "+t.processlist()+" WHERE ID = ?", id) != "0" {
		same(time.Now().Before(deadline), true, "the killed session leaves the process list")
		time.Sleep(10 * time.Millisecond)
	}
	// The end of the server's connection takes a moment to pass through a proxy. A statement that is sent in that moment fails
	// as on a connection that dies under it; the next one finds the pool mended. If it runs already, it is told first that it was
	// interrupted, and the connection ends behind that: then the next one may be the one that is sent in that moment.
	var v string
	err := db.QueryRow("SELECT 'alive'").Scan(&v)
	if told := new(mysql.MySQLError); errors.As(err, &told) {
		err = db.QueryRow("SELECT 'alive'").Scan(&v)
	}
	if err != nil {
		v = one(db, "SELECT 'alive'")
	}
	same(v, "alive", "the pool afterwards")
}
