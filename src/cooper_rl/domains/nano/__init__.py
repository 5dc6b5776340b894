"""The nano worlds: small problem sets with a policy and a VerifyRM made for them, which the package ships."""
