package providers

// Public lets the tests name addresses that nothing dials.
var Public = public
