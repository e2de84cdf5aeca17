// A plain Go program that does the same job as three routes of the system: it authenticates the API key, checks its scope,
// counts two rate limits in Redis, validates the input, runs one statement and writes the same envelope.
// `node test/load/bench.ts --only whole` compiles and starts it with the path of a JSON file.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

type grant struct {
	GuildID string   `json:"guildId"`
	Scopes  []string `json:"scopes"`
}

type settings struct {
	Port        int               `json:"port"`
	DatabaseURL string            `json:"databaseUrl"`
	Redis       string            `json:"redis"`
	Script      string            `json:"script"`
	Statements  map[string]string `json:"statements"`
	// Grants by the SHA-256 hash of the API key.
	Keys map[string]grant `json:"keys"`
}

const (
	maxPlayers = 25
	maxBytes   = 64 * 1024
	cap        = 1_000_000
)

var (
	serverID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	config   settings
	pool     *pgxpool.Pool
	client   *redis.Client
	script   *redis.Script
)

type link struct {
	ChatID       string `json:"chat_id"`
	GameID       int64  `json:"game_id"`
	GameUsername string `json:"game_username"`
	Verified     bool   `json:"verified"`
}

type info struct {
	Reason      string  `json:"reason"`
	CreatedAt   int64   `json:"created_at"`
	ExpiresAt   *int64  `json:"expires_at"`
	IsPermanent bool    `json:"is_permanent"`
	By          *string `json:"banned_by"`
}

type standing struct {
	Banned  bool  `json:"banned"`
	BanInfo *info `json:"ban_info"`
	Muted   bool  `json:"muted"`
	Flagged bool  `json:"flagged"`
}

type heartbeat struct {
	GuildID     string `json:"guild_id"`
	ServerID    string `json:"server_id"`
	PlaceID     int64  `json:"place_id"`
	PlayerCount int    `json:"player_count"`
	MaxPlayers  int    `json:"max_players"`
}

type command struct {
	ID   string `json:"command_id"`
	Type string `json:"type"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	must(err)
	must(json.Unmarshal(text, &config))
	runtime.GOMAXPROCS(2)
	pgConfig, err := pgxpool.ParseConfig(config.DatabaseURL)
	must(err)
	pgConfig.MaxConns = 5
	pool, err = pgxpool.NewWithConfig(context.Background(), pgConfig)
	must(err)
	options, err := redis.ParseURL(config.Redis)
	must(err)
	options.PoolSize = 8
	client = redis.NewClient(options)
	script = redis.NewScript(config.Script)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/lookup/game/{gameId}", guarded("lookup", "lookup:read", lookUp))
	mux.HandleFunc("POST /api/v1/game/servers/heartbeat", guarded("server_heartbeat", "server:write", beat))
	mux.HandleFunc("POST /api/v1/moderation/{guildId}/game/status", guarded("moderation_check", "moderation:read", statuses))
	must(http.ListenAndServe("127.0.0.1:"+strconv.Itoa(config.Port), mux))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type handler func(w http.ResponseWriter, r *http.Request, guildID string)

// guarded authenticates the key, checks the scope and the guild, and counts the limits of the guild and the key.
func guarded(category, scope string, next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.Header.Get("X-API-Key")))
		hash := hex.EncodeToString(sum[:])
		key, known := config.Keys[hash]
		if !known {
			fail(w, 401, "INVALID_API_KEY")
			return
		}
		if !contains(key.Scopes, scope) {
			fail(w, 403, "MISSING_SCOPE")
			return
		}
		if named := r.Header.Get("X-Guild-ID"); named != "" && named != key.GuildID {
			fail(w, 403, "GUILD_MISMATCH")
			return
		}
		tag := "yardstick:{" + key.GuildID + "}:"
		ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
		reply, err := script.Run(ctx, client, []string{tag + category, tag + hash}, 60000, 2, -1, 0, cap, 0, cap, 0).Int64Slice()
		cancel()
		if err != nil {
			fail(w, 503, "UNAVAILABLE")
			return
		}
		if reply[2] == 0 {
			fail(w, 429, "RATE_LIMITED")
			return
		}
		w.Header().Set("X-RateLimit-Remaining", strconv.FormatInt(cap-reply[3], 10))
		next(w, r, key.GuildID)
	}
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}

func lookUp(w http.ResponseWriter, r *http.Request, guildID string) {
	gameID, err := strconv.ParseInt(r.PathValue("gameId"), 10, 64)
	if err != nil || gameID < 1 {
		fail(w, 400, "INVALID_REQUEST")
		return
	}
	found := link{Verified: true}
	row := pool.QueryRow(r.Context(), config.Statements["lookup"], guildID, gameID)
	if row.Scan(&found.ChatID, &found.GameID, &found.GameUsername) != nil {
		fail(w, 404, "NOT_FOUND")
		return
	}
	send(w, 200, map[string]any{"status": "success", "code": 200, "message": "User found", "data": found})
}

func beat(w http.ResponseWriter, r *http.Request, guildID string) {
	var given heartbeat
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(&given) != nil ||
		!serverID.MatchString(given.ServerID) || given.PlaceID < 1 || given.PlayerCount < 0 || given.MaxPlayers < 1 {
		fail(w, 400, "INVALID_REQUEST")
		return
	}
	if given.GuildID != guildID {
		fail(w, 403, "GUILD_MISMATCH")
		return
	}
	rows, err := pool.Query(r.Context(), config.Statements["heartbeat"],
		guildID, given.ServerID, given.PlaceID, given.PlayerCount, given.MaxPlayers)
	if err != nil {
		fail(w, 503, "UNAVAILABLE")
		return
	}
	defer rows.Close()
	commands := []command{}
	for rows.Next() {
		var one command
		if rows.Scan(&one.ID, &one.Type) == nil {
			commands = append(commands, one)
		}
	}
	if rows.Err() != nil {
		fail(w, 503, "UNAVAILABLE")
		return
	}
	data := map[string]any{"server_time": time.Now().Unix(), "next_heartbeat_seconds": 15, "commands": commands}
	send(w, 200, map[string]any{"status": "success", "code": 200, "message": "Heartbeat received", "data": data})
}

func statuses(w http.ResponseWriter, r *http.Request, guildID string) {
	var given struct {
		GameIDs []int64 `json:"game_ids"`
	}
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(&given) != nil || len(given.GameIDs) > maxPlayers {
		fail(w, 400, "INVALID_REQUEST")
		return
	}
	if r.PathValue("guildId") != guildID {
		fail(w, 403, "GUILD_MISMATCH")
		return
	}
	results := make(map[string]*standing, len(given.GameIDs))
	for _, id := range given.GameIDs {
		if id < 1 {
			fail(w, 400, "INVALID_REQUEST")
			return
		}
		results[strconv.FormatInt(id, 10)] = &standing{}
	}
	rows, err := pool.Query(r.Context(), config.Statements["statuses"], guildID, given.GameIDs)
	if err != nil {
		fail(w, 503, "UNAVAILABLE")
		return
	}
	defer rows.Close()
	for rows.Next() {
		var (
			id      int64
			kind    string
			reason  string
			created int64
			expires *int64
			by      *string
		)
		if rows.Scan(&id, &kind, &reason, &created, &expires, &by) != nil {
			continue
		}
		one := results[strconv.FormatInt(id, 10)]
		switch kind {
		case "ban":
			one.Banned = true
			one.BanInfo = &info{reason, created, expires, expires == nil, by}
		case "mute":
			one.Muted = true
		default:
			one.Flagged = true
		}
	}
	if rows.Err() != nil {
		fail(w, 503, "UNAVAILABLE")
		return
	}
	data := map[string]any{"results": results}
	send(w, 200, map[string]any{"status": "success", "code": 200, "message": "Players checked", "data": data})
}

func fail(w http.ResponseWriter, status int, code string) {
	send(w, status, map[string]any{"status": "error", "code": status, "message": strings.ToLower(code), "details": map[string]string{"code": code}})
}

func send(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = 500, []byte(`{"status":"error","code":500}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
