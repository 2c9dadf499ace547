//! Virtual machines: SBI, exits, nested tables on demand, and what each costs.
