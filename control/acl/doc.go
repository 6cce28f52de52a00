// Package acl decides who may do what: the rules of Apache Kafka's StandardAuthorizer (KIP-801) over the ACLs of the metadata, as an
// index that never changes.
//
// It does not keep ACLs (control/image does), does not know which operation a request needs (node/api does), and logs nothing.
//
// The life of a decision:
//
//	image.Image ── its ACLs ──▶ Rules.Authorizer ──▶ Authorizer ──▶ published by node in the place of the one before
//	                                                     │
//	request ── Client, operation, resource ──────────────┴──▶ Allows: one word, no lock, nothing allocated
//
// # How it is decided
//
// A super user may do everything. For others all ACLs that match count: those whose resource is the one that is asked for, by its
// name, by a prefix of it or by "*", whose principal is the client's or "User:*", whose host is the client's or "*", and whose
// operation is the one that is asked for, or all, or, of those that allow, one that implies it (READ, WRITE, DELETE and ALTER imply
// DESCRIBE, ALTER_CONFIGS implies DESCRIBE_CONFIGS).
//
//	one of them denies                     denied
//	one of them allows                     allowed
//	the resource has ACLs, for others      denied
//	the resource has no ACL                allow.everyone.if.no.acl.found
//
// # What it costs
//
// A resource's ACLs are found by one look for its name and one for each length that a prefix of its kind has, and compared one by
// one. Making the index is linear in the ACLs. 100,000 of them are a tenth of a second's work, off the loops: see the benchmarks.
//
// # Departures from Kafka
//
// Kafka compares hosts as texts, of which an IPv6 address has many; here they are compared as addresses.
package acl
