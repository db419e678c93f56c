SELECT b.auction, b.price, a.item, a.seller FROM bid AS b JOIN auction AS a ON a.id = b.auction WHERE a.category = 10
