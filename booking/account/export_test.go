package account

// LookAtMost lowers what one comparison asks for one by one.
func (a *Accounts) LookAtMost(n int) { a.looks = n }
