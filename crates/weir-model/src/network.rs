use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses in CIDR notation (RFC 4632 and RFC 4291): `10.0.0.0/8`, `fd00::/8`. A bare address is a
/// range of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpNet {
    address: IpAddr,
    prefix: u8,
}

impl IpNet {
    /// Reads `ADDRESS/PREFIX` or `ADDRESS`. The error says what to change.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| "write an address and a prefix, for example \"10.0.0.0/8\"".to_owned())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => digits
                .parse()
                .ok()
                .filter(|p| *p <= longest)
                .ok_or_else(|| format!("the prefix of this address is a number from 0 to {longest}"))?,
            Some(_) => return Err(format!("the prefix of this address is a number from 0 to {longest}")),
        };
        let network = masked(address, prefix);
        if network != address {
            return Err(format!("bits are set after the prefix: did you mean \"{network}/{prefix}\"?"));
        }
        Ok(Self { address, prefix })
    }

    /// The first address of the range.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Leading bits that all addresses of the range share, 0 to 32 or 128.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Whether `ip` lies in the range. An IPv4 peer of an IPv6 socket (`::ffff:10.0.0.1`) is taken as IPv4.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        ip.is_ipv4() == self.address.is_ipv4() && masked(ip, self.prefix) == self.address
    }

    /// Whether all of the other range lies in this one.
    pub fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.address)
    }

    /// The two ranges that it consists of; `None` for a single address.
    pub fn halves(&self) -> Option<[Self; 2]> {
        let prefix = self.prefix + 1;
        let second = match self.address {
            IpAddr::V4(ip) => {
                IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() | 1 << 32u32.checked_sub(prefix.into())?))
            }
            IpAddr::V6(ip) => {
                IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() | 1 << 128u32.checked_sub(prefix.into())?))
            }
        };
        Some([Self { prefix, ..*self }, Self { address: second, prefix }])
    }
}

impl fmt::Display for IpNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn masked(ip: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32u32.saturating_sub(prefix)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128u32.saturating_sub(prefix)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests;
