-- How many refusals of a client the audit holds for the present hour.
CREATE INDEX audit_refusals ON audit (client, at) WHERE outcome = 'refused';
