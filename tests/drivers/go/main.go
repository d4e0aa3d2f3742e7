package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

var (
	t       = targetOfEnvironment()
	all     = &suite{}
	session *sql.DB
	ctx     = context.Background()
)

// open makes a pool of the driver; `change` adapts the configuration before.
func open(change func(*mysql.Config)) *sql.DB {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = t.user, t.password, "tcp", t.address, t.db
	c.Params = map[string]string{"time_zone": "'+00:00'"}
	c.MaxAllowedPacket = 64 << 20
	c.TLSConfig = "false"
	if change != nil {
		change(c)
	}
	connector, err := mysql.NewConnector(c)
	must(err, "configuration")
	return sql.OpenDB(connector)
}

func withTLS(c *mysql.Config)         { c.TLSConfig = "skip-verify" }
func withSocket(c *mysql.Config)      { c.Net, c.Addr = "unix", t.socket }
func withCompression(c *mysql.Config) { must(c.Apply(mysql.EnableCompression(true)), "compression") }

// withCA verifies the chain but not the name: a server's self-made certificate names no host.
func withCA(c *mysql.Config) {
	pem, err := os.ReadFile(t.ca)
	must(err, "WEIR_CA")
	pool := x509.NewCertPool()
	same(pool.AppendCertsFromPEM(pem), true, "certificates in WEIR_CA")
	must(mysql.RegisterTLSConfig("verify-ca", &tls.Config{
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool})
			return err
		},
	}), "TLS configuration")
	c.TLSConfig = "verify-ca"
}

func exec(db *sql.DB, statement string, arguments ...any) int64 {
	result, err := db.Exec(statement, arguments...)
	must(err, fmt.Sprintf("%.80s", statement))
	count, err := result.RowsAffected()
	must(err, "affected rows")
	return count
}

func one(db *sql.DB, statement string, arguments ...any) string {
	var v sql.NullString
	must(db.QueryRow(statement, arguments...).Scan(&v), fmt.Sprintf("%.80s", statement))
	return v.String
}

func prepareSchema() {
	db := open(func(c *mysql.Config) { c.DBName = "" })
	defer db.Close()
	exec(db, "DROP DATABASE IF EXISTS "+t.db)
	exec(db, "CREATE DATABASE "+t.db+" CHARACTER SET utf8mb4")
	session = open(nil)
	session.SetMaxOpenConns(1)
	exec(session, "CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB")
	for i := 1; i <= 10; i++ {
		same(exec(session, fmt.Sprintf("INSERT INTO items VALUES (%d, '%s')", i, item(i))), 1, "affected rows")
	}
}

func item(i int) string { return fmt.Sprintf("größe 漢字 %d 🐬", i) }

func login(ciphered, compressed bool, change ...func(*mysql.Config)) {
	db := open(func(c *mysql.Config) {
		for _, f := range change {
			f(c)
		}
	})
	defer db.Close()
	db.SetMaxOpenConns(1)
	same(one(db, "SELECT 'größe 🐬'"), "größe 🐬", "answer")
	if t.direct { // behind a proxy these describe the proxy's own link
		var name, v string
		must(db.QueryRow("SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &v), "Ssl_cipher")
		same(v != "", ciphered, "link is encrypted")
		must(db.QueryRow("SHOW SESSION STATUS LIKE 'Compression'").Scan(&name, &v), "Compression")
		same(v == "ON", compressed, "link is compressed")
	}
}

// loginNewUser logs in as a user of whom nobody has a cached login: full authentication first, then what is quicker.
func loginNewUser(suffix string, change ...func(*mysql.Config)) {
	user := t.db + "_" + suffix
	exec(session, "DROP USER IF EXISTS '"+user+"'@'%'")
	exec(session, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'pw-1 %x#y'")
	defer exec(session, "DROP USER '"+user+"'@'%'")
	for range 3 {
		db := open(func(c *mysql.Config) {
			c.User, c.Passwd, c.DBName = user, "pw-1 %x#y", ""
			for _, f := range change {
				f(c)
			}
		})
		got, _, _ := strings.Cut(one(db, "SELECT CURRENT_USER()"), "@")
		same(got, user, "user")
		db.Close()
	}
}

func logins() {
	all.check("login-plain", func() { login(false, false) })
	all.check("login-new-user-plain", func() { loginNewUser("p") })
	all.check("login-compressed", func() { login(false, true, withCompression) })
	if t.tls {
		all.check("login-tls", func() { login(true, false, withTLS) })
		all.check("login-compressed-tls", func() { login(true, true, withTLS, withCompression) })
		all.check("login-new-user-tls", func() { loginNewUser("t", withTLS) })
	}
	if t.tls && t.ca != "" {
		all.check("login-verify-ca", func() { login(true, false, withCA) })
	}
	if t.socket != "" {
		all.check("login-socket", func() { login(false, false, withSocket) })
		all.check("login-new-user-socket", func() { loginNewUser("s", withSocket) })
	}
	all.check("login-wrong-password", func() {
		db := open(func(c *mysql.Config) { c.Passwd = "not the password" })
		defer db.Close()
		isError(db.Ping(), 1045, "28000")
	})
	all.check("login-unknown-schema", func() {
		db := open(func(c *mysql.Config) { c.DBName += "_missing" })
		defer db.Close()
		isError(db.Ping(), 1049, "42000")
	})
}

func main() {
	all.check("prepare", prepareSchema)
	logins()
	interpolated := func(c *mysql.Config) { c.InterpolateParams = true }
	all.check("types-text", func() { types(interpolated) })
	all.check("types-prepared", func() { types(nil) })
	all.check("big-value", func() { bigValue(interpolated) })
	all.check("big-value-prepared", func() { bigValue(nil) })
	all.check("big-value-compressed", func() { bigValue(withCompression) })
	if t.tls {
		all.check("big-value-tls", func() { bigValue(withTLS) })
	}
	all.check("load-data-local", func() { loadDataLocal(nil) })
	all.check("load-data-local-compressed", func() { loadDataLocal(withCompression) })
	all.check("load-data-local-reader", loadDataReader)
	all.check("procedure-results", procedureResults)
	all.check("multi-statements", multiStatements)
	all.check("transaction", transaction)
	all.check("cancel-context", cancelContext)
	all.check("cancel-kill-query", cancelKill)
	all.check("errors", errorNumbers)
	all.check("prepared-many", preparedMany)
	all.check("stream", stream)
	all.check("reset-session", resetSession)
	all.check("reconnects", func() { reconnects(nil) })
	if t.tls {
		all.check("reconnects-tls", func() { reconnects(withTLS) })
	}
	all.finish()
}

func reconnects(change func(*mysql.Config)) {
	for i := range 50 {
		db := open(change)
		same(one(db, "SELECT ?", i), i, "answer")
		must(db.Close(), "close")
	}
}

// cancelContext: a deadline makes the driver give up its connection; the pool makes a new one.
func cancelContext() {
	db := open(nil)
	defer db.Close()
	deadline, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	started := time.Now()
	var v int
	err := db.QueryRowContext(deadline, "SELECT SLEEP(30) AS cancel_me").Scan(&v)
	same(errors.Is(err, context.DeadlineExceeded), true, fmt.Sprint("error of the cancelled query: ", err))
	same(time.Since(started) < 20*time.Second, true, "cancelled in time")
	same(one(db, "SELECT 'alive'"), "alive", "the pool afterwards")
}
