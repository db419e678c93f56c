SELECT symbol, price, volume FROM trades WHERE symbol NOT IN (SELECT symbol FROM restricted WHERE active)
