"""How the nano policies and VerifyRMs were made that the package ships in `cooper_rl/domains/nano/shipped`."""
