SELECT auction, sort_array(collect_list(price), false) AS prices, slice(sort_array(collect_list(price), false), 1, 2) AS highest FROM bid GROUP BY auction
