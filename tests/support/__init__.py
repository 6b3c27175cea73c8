"""What several rooms of tests share: servers, made inputs, attacks and strategies."""
