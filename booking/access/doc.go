// Package access says who may do what: users and their passwords, API tokens,
// one-time links, and the one table of [May] that pages and API both ask.
//
// It owns the rules and keeps nothing: what it decides is stored through
// [Store], each change in one transaction with the [Entry] that tells of it in
// the append-only admin_log. Nothing is stored that would sign anybody in:
// passwords as argon2id, tokens and links as SHA-256 of 256 random bits.
package access
