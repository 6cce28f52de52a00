package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/ringmill/ringmill/bench"
)

// accepted says what flags take, by the names that their types have in help. What is not here says so in its own errors.
var accepted = map[string]string{
	"bool": "true or false", "duration": "a time with its unit, as 500ms, 10s or 1h30m", "float64": "a number, as 1000, 0.5 or 1e6", "uint64": "a whole number from 0 on",
	"int": "a whole number", "int16": "a whole number", "int32": "a whole number", "int64": "a whole number",
	"intSlice": "whole numbers, as 1,2,3", "int32Slice": "whole numbers, as 1,2,3", "int64Slice": "whole numbers, as 1,2,3", "stringSlice": "words, as a,b,c",
}

// flagFault says of a value that a flag does not take what it does take.
func flagFault(flag *pflag.Flag, value string, err error) error {
	what, known := accepted[flag.Value.Type()]
	switch {
	case !known:
		return fmt.Errorf("--%s %q: %w", flag.Name, value, err)
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s %q: out of range: must be %s", flag.Name, value, what)
	}
	return fmt.Errorf("--%s %q: must be %s", flag.Name, value, what)
}

// flagError is what a command line is refused with, in our own words where it is a value.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return flagFault(invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap())
	}
	return err
}

// byteCount is a flag of a number of bytes: a whole number in any of Go's notations, or one with a unit.
type byteCount[T int | int64] struct{ n *T }

// Set, String and Type make byteCount a flag.
func (b byteCount[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		if n, err = bench.ParseBytes(text); err != nil {
			return errors.New("must be " + bench.BytesAccepted)
		}
	}
	*b.n = T(n)
	return nil
}

func (b byteCount[T]) String() string { return strconv.FormatInt(int64(*b.n), 10) }

// Type is the placeholder in help.
func (byteCount[T]) Type() string { return "bytes" }
