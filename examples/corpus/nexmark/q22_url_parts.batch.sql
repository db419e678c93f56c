SELECT auction, split(url, '/')[3] AS dir1, split(url, '/')[4] AS dir2, split(url, '/')[5] AS dir3 FROM bid WHERE channel = 'Apple'
