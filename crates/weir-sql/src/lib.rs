//! Lexer and facts about statements; never fails, linear time
