package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"
)

//go:embed static
var staticFiles embed.FS

// asset is a static file with the hash that its address carries.
type asset struct {
	body []byte
	kind string
	hash string
}

type assets map[string]asset

func loadAssets() assets {
	out := assets{}
	add := func(name string, body []byte) {
		sum := sha256.Sum256(body)
		out[name] = asset{body: body, kind: mime.TypeByExtension(path.Ext(name)), hash: hex.EncodeToString(sum[:6])}
	}
	// The files are part of the program: reading them cannot fail.
	entries, _ := staticFiles.ReadDir("static")
	for _, e := range entries {
		body, _ := staticFiles.ReadFile("static/" + e.Name())
		add(e.Name(), body)
	}
	add("grid.css", gridCSS())
	return out
}

// address of a file, which changes with its content.
func (a assets) address(name string) string { return "/static/" + name + "?v=" + a[name].hash }

func (a assets) serve(c echo.Context) error {
	file, ok := a[c.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	cache := "no-cache"
	if c.QueryParam("v") == file.hash {
		cache = "public, max-age=31536000, immutable"
	}
	c.Response().Header().Set("Cache-Control", cache)
	return c.Blob(http.StatusOK, file.kind, file.body)
}
