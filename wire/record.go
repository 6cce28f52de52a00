package wire

// recordSizeMin is the smallest record in bytes: length, attributes, timestamp delta, offset delta, a null key, a null
// value, no headers.
const recordSizeMin = 7
