package lint

import (
	"slices"
	"testing"

	"github.com/ringmill/ringmill/node/config"
)

func effective(property string) bool {
	return slices.ContainsFunc(config.Properties(), func(p config.Property) bool { return p.Name == property && p.Effective() })
}

// A property that the table calls effective is read by the node.
func TestEffectivePropertiesAreRead(t *testing.T) {
	unread := UnreadProperties(readModule(t), effective)
	slices.Sort(unread)
	for _, p := range unread {
		t.Errorf("%s is declared effective in node/config and nothing in node reads it", p)
	}
}

// A property that the node reads is not declared without effect.
func TestIdlePropertiesAreNotRead(t *testing.T) {
	found := IdleButRead(readModule(t), func(property string) bool { return !effective(property) })
	slices.Sort(found)
	for _, p := range found {
		t.Errorf("%s is declared without effect in node/config and node reads it: take the word awaited or idle from its row", p)
	}
}

func TestIdleButReadOnSamples(t *testing.T) {
	files := []*File{
		parse(t, "node/config/config.go", "package config\ntype Config struct {\nA int `property:\"a.a\"`\nB int `property:\"b.b\"`\nC int `property:\"c.c\"`\n}"),
		parse(t, "node/loop.go", "package node\nfunc f(c Config) int { return c.A + c.B }"),
	}
	got := IdleButRead(files, func(property string) bool { return property != "a.a" })
	if !slices.Equal(got, []string{"b.b"}) {
		t.Errorf("read %q", got)
	}
}

func TestUnreadPropertiesOnSamples(t *testing.T) {
	files := []*File{
		parse(t, "node/config/config.go", "package config\ntype Config struct {\nA int `property:\"a.a\"`\nB int `property:\"b.b\"`\nC int `property:\"c.c\"`\nD int `property:\"d.d\"`\n}\nfunc (c *Config) Sum() int { return c.B }"),
		parse(t, "node/loop.go", "package node\nfunc f(c Config) int { return c.A + c.Sum() }"),
	}
	got := UnreadProperties(files, func(property string) bool { return property != "d.d" })
	if !slices.Equal(got, []string{"c.c"}) {
		t.Errorf("unread %q", got)
	}
}
