package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Jars returns the folder of Apache Kafka's jars, fetched by Maven if it is not there.
func Jars(tb testing.TB) string {
	tb.Helper()
	if libs := os.Getenv("KAFKA_LIBS"); libs != "" {
		return libs
	}
	return mavenJars(tb, "kafka", "pom.xml")
}

// AppJars returns the folder of the jars of Apache Kafka, its Streams, its Connect with the file connectors, and MirrorMaker.
func AppJars(tb testing.TB) string {
	tb.Helper()
	return mavenJars(tb, "kafka-apps", filepath.Join("apps", "pom.xml"))
}

// mavenJars fetches what a pom of tests/peers asks for into a folder of the cache. kafka-up.sh takes the first of them too.
func mavenJars(tb testing.TB, name, pom string) string {
	tb.Helper()
	Apt(tb, "java", "default-jre-headless")
	Apt(tb, "mvn", "maven")
	var libs string
	err := locked(name+"-jars", func(cache string) error {
		libs = filepath.Join(cache, name, "libs")
		return once(libs, func(work string) error {
			return install("", "mvn", "-q", "-B", "-f", filepath.Join(peers(), pom), "dependency:copy-dependencies", "-DoutputDirectory="+work)
		})
	})
	if err != nil {
		unavailable(tb, "Apache "+name, err)
	}
	return libs
}

// peers is the folder of what runs beside the node: poms, scripts, Java sources.
func peers() string { return filepath.Join(Root(), "tests", "peers") }

// Java is the start of a command line that runs one of Apache Kafka's classes, quietly and with a small heap.
func Java(tb testing.TB, class string, args ...string) []string {
	tb.Helper()
	return javaCommand(filepath.Join(Jars(tb), "*"), class, args)
}

// JavaApp is Java with the jars of AppJars, and with the classes of a source file in tests/peers/apps if class is its name.
func JavaApp(tb testing.TB, class string, args ...string) []string {
	tb.Helper()
	classes := filepath.Join(AppJars(tb), "*")
	source := filepath.Join(peers(), "apps", class+".java")
	if _, err := os.Stat(source); err == nil {
		classes = compiled(tb, source, classes) + ":" + classes
	}
	return javaCommand(classes, class, args)
}

func javaCommand(classes, class string, args []string) []string {
	argv := []string{"java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Dlog4j2.configurationFile=" + filepath.Join(peers(), "log4j2-quiet.properties"), "-cp", classes, class}
	return append(argv, args...)
}

// compiled returns a cache folder with a Java source file's classes; a changed source has another folder.
func compiled(tb testing.TB, source, classes string) string {
	tb.Helper()
	Apt(tb, "javac", "default-jdk-headless")
	text, err := os.ReadFile(source)
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(text)
	var dir string
	err = locked("javac", func(cache string) error {
		dir = filepath.Join(cache, "kafka-apps", filepath.Base(source)+"-"+hex.EncodeToString(sum[:4]))
		return once(dir, func(work string) error {
			return install("", "javac", "-proc:none", "-cp", classes, "-d", work, source)
		})
	})
	if err != nil {
		tb.Fatal(fmt.Errorf("compile %s: %w", source, err))
	}
	return dir
}
